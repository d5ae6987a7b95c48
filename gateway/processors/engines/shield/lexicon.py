"""The words that attacks on prompts are made of, in each language, as patterns.

They are matched against text in lower case without diacritics (gateway.processors.engines.shield.
views). A space stands for whatever separates words.
"""

from __future__ import annotations

from msgspec import Struct


class Lexicon(Struct, frozen=True, kw_only=True):
    """Alternatives of a pattern, each without groups that are kept."""

    # To take instructions for void, as a command.
    ignore: str
    # Instructions.
    rules: str
    # Said before, above.
    earlier: str
    # Of the one who is spoken to, as a friend is: never the polite form.
    your: str
    # That the rules are void.
    void: str
    # All that was said before.
    all_before: str
    # To say what is secret, as a command or a question.
    reveal: str
    # The secret: a system prompt.
    prompt: str
    # What makes instructions the secret ones.
    kept: str
    # All above this message.
    above: str
    # To play somebody.
    pretend: str
    # A program that answers.
    ai: str
    # Without limits.
    unlimited: str
    # Never to refuse, to obey.
    obedient: str
    # Switch off your filters.
    filters_off: str
    # A mode without filters.
    mode: str
    # Who claims to have a say.
    authority: str
    # Words to a program that reads a document.
    reader: str
    # Do not tell anybody.
    quiet: str
    # Send or do something that nobody asked for.
    action: str
    # A new task.
    new_task: str


EN = Lexicon(
    ignore=(
        "ignore|disregard|forget|override|bypass|discard|neglect|overrule|set aside|throw away"
        "|stop following|stop obeying|(?:do not|don t|no longer|never) (?:follow|obey)|drop|skip"
        "|pay no attention to|leave|erase|clear|delete"
    ),
    rules=(
        "instructions?|directives?|prompts?|rules?|guidelines?|commands?|orders|guardrails?"
        "|polic(?:y|ies)|restrictions?|constraints?|directions|programming|limits|(?:system"
        "|developer)"
        " message|safeguards"
    ),
    earlier=(
        "previous|prior|above|earlier|preceding|former|initial|original|before|so far|until now"
        "|you were (?:given|told)|you got|system|developer"
    ),
    your="your",
    void=(
        "no longer appl(?:y|ies)|(?:is|are|was|were) (?:\\w+ )?(?:void|cancell?ed|outdated|deleted"
        "|removed|replaced|suspended|obsolete|lifted)|never existed"
    ),
    all_before=(
        "(?:everything|all|anything|whatever) (?:you were told |you know "
        "|that )?(?:\\w+ )?(?:before|above|came"
        " before|preceding) (?:this|here)|every(?:thing| instruction)(?: that)? came before"
        "|everything"
        " you (?:were|have been) (?:told|taught)"
    ),
    reveal=(
        "reveal|show|print|repeat|output|display|tell|give|share|disclose|dump|leak|expose|recite"
        "|write|translate|summari[sz]e|list|copy|paste|quote|reproduce|spell out|encode|echo"
        "|convert"
        "|what (?:is|are|was|were)|which|make|return|say what"
    ),
    prompt=(
        "(?:system|initial|hidden|original|secret|starting) (?:prompt|message)|pre ?prompt"
        "|(?:configuration|developer) message|context window|prompt"
    ),
    kept=(
        "secret|hidden|initial|original|internal|confidential|system|developer|exact|starting|keep"
        " secret"
    ),
    above=(
        "(?:text|everything|words|content|all)(?: \\w+)? (?:above|before this)"
        "|between the start of the"
        " conversation|(?:starting|beginning) with you are|from the very top"
    ),
    pretend=(
        "pretend|act as|you are now|you are|roleplay|role play|play|simulate|imagine|behave as"
        "|respond|answer|be|write|enable|activate"
    ),
    ai="ai|model|bot|assistant|chatbot|gpt|llm|persona|twin|hacker|dan|terminal",
    unlimited=(
        "(?:without|no|free (?:of|from)|has no|have no|ignores?) (?:any |ethical |moral "
        "|openai s |content"
        " )*(?:restrictions?|rules?|filters?|limits?|limitations?|polic(?:y|ies)|morals?|ethics"
        "|guidelines"
        "|disclaimers|censorship|boundaries)|uncensored|unrestricted|unfiltered|jailbroken"
    ),
    obedient=(
        "never (?:refuses?|says? (?:no|he cannot)|warns?)|cannot refuse|obeys? every"
        "|must (?:comply|obey)"
        "|refusing is|if you refuse|would normally refuse|do anything now|(?:never break|stay in)"
        " character|comply with everything"
    ),
    filters_off=(
        "(?:turn off|switch off|disable|deactivate|remove|drop|lift)(?: all| any)? (?:your"
        "|the model s|content)"
        " (?:\\w+ )?(?:filters?|safety|moderation|restrictions?|guardrails?|safeguards|checks)"
        "|without (?:your|any) (?:safety |content )(?:rules|filters?|polic(?:y|ies))"
        "|disable moderation|alignment is disabled|all safety off"
    ),
    mode=(
        "(?:developer|dev|god|debug|dan|jailbreak|opposite|maintenance|admin|sudo) (?:mode|session)"
    ),
    authority=(
        "(?:i am|this is|i m) (?:your (?:developer|creator|owner|administrator|admin)|(?:openai"
        "|anthropic"
        "|google)(?: s)?)|authori[sz](?:e you|ation granted)|(?:admin|system|root) override"
        "|override code|user is an? admin(?:istrator)?|elevate this session"
        "|from the admin(?:istrator)?"
        "|(?:for this test|your) restrictions are suspended"
    ),
    reader=(
        "(?:note|instructions?|attention|message|dear|hello|hi|hey|to|important"
        "|action)(?: \\w+){0,2}"
        " (?:ai|llms?|language models?|chatgpt|chatbots?|virtual assistant|ai (?:systems?"
        "|assistants?|agents?"
        "|tools?))|if you are an? (?:large )?(?:language model|ai|llm)|(?:llms?|coding agents?|ai"
        " assistants?|assistants?|models?) (?:must|should|run|reading|processing|before you"
        "|ignore|mark|do"
        " not)|(?:assistant|model|ai tool instructions|coding agents) (?:must|mark|ignore"
        "|before|run|retry)"
    ),
    quiet=(
        "(?:do not|don t|never|without) (?:tell|mention|inform|alert|telling|mentioning"
        "|informing|asking)"
        "(?: this| it)?(?: \\w+)? (?:user|developer|comment|sentence|instruction|human|anyone"
        "|anybody|this)"
        "|keep quiet about|hide this (?:sentence|instruction|message)|without asking the user"
    ),
    action=(
        "(?:send|forward|export|upload|append|transfer|email|post|leak)(?: \\w+){1,8}? (?:to"
        "|from) (?:\\w+"
        " ){0,3}(?:http|\\w+ \\w+ (?:com|example|org|net)|inbox|account)|call delete|curl \\w+"
        "|rate this (?:applicant|candidate|resume|cv)|recommend immediate hiring|transfer \\d+"
        "|escalate my account|visiting http|user s api key|your new goal|tell (?:the"
        "|your) (?:user|reader)"
    ),
    new_task=(
        "new (?:task|rule|policy|instructions?|goal|order|system message|system prompt)|your real"
        " instructions?|begin system message|end of (?:user (?:message|input)|document)"
    ),
)
NL = Lexicon(
    ignore=(
        "negeer|vergeet|omzeil|schrap|wis|verwerp|sla|trek je niets aan van"
        "|hou(?:d)? geen rekening met"
        "|volg|luister niet naar|laat|doe alsof er nooit"
    ),
    rules=(
        "instructies?|aanwijzingen|regels?|richtlijn(?:en)?|opdracht(?:en)?|bevel(?:en)?"
        "|beperkingen"
        "|voorschriften|(?:systeem)?prompts?|beveiliging|opgedragen"
    ),
    earlier=(
        "vorige|voorgaande|eerdere?|bovenstaande|hierboven|voorafgaande|oorspronkelijke|tot nu toe"
        "|oude|systeem\\w*|waren"
    ),
    your="je|jouw",
    void=(
        "geld(?:en|t) niet (?:meer|langer)|(?:is|zijn|waren) (?:\\w+ )?(?:vervallen|vervangen"
        "|opgeheven"
        "|ingetrokken|gewist|ongeldig)|volg die niet"
    ),
    all_before=(
        "alles (?:wat )?(?:\\w+ ){0,4}(?:hierboven|boven|hiervoor|voor deze)|wat je (?:eerder"
        "|hiervoor) is"
    ),
    reveal=(
        "toon|herhaal|geef|schrijf|vertaal|noem|onthul|laat|print|zeg|verklap|deel|vertel|welke"
        "|wat (?:is|zijn"
        "|mag)|som"
    ),
    prompt="systeemprompts?|systeembericht|prompt|(?:systeem|begin)instructies",
    kept="geheime?|verborgen|oorspronkelijke|interne|vertrouwelijke|verzwijgen|niet vertellen",
    above="(?:tekst|alles)(?: \\w+)? (?:boven|hierboven|voor) |boven dit bericht",
    pretend=(
        "doe alsof|je bent (?:vanaf )?nu|speel|gedraag je als|antwoord|schrijf|schakel|stel je voor"
    ),
    ai="ai|model|bot|assistent|chatbot|computer|dan|ontwikkelaarsmodus",
    unlimited=(
        "(?:zonder|geen) (?:enige |ethische )?(?:regels|filters?|beperkingen|grenzen|moraal"
        "|richtlijnen"
        "|censuur)|ongecensureerd|onbeperkt|elke wet negeert|niets weigert"
    ),
    obedient=(
        "weigert? (?:nooit|niets)|nooit (?:iets )?weiger\\w*|blijf in je rol|nooit weigert"
        "|alles goedkeurt"
    ),
    filters_off=(
        "(?:zet|schakel|haal) (?:je|jouw|al je) (?:\\w+ ){0,2}?\\w*(?:filters?|beveiliging"
        "|beperkingen) (?:uit|weg)"
    ),
    mode="(?:ontwikkelaars|ontwikkel|god|beheerders)modus",
    authority=(
        "ik ben (?:je|jouw) (?:ontwikkelaar|maker|beheerder)|gebruiker is beheerder"
        "|toestemming om je"
        "|instructies van de beheerder|voer elk verzoek uit"
    ),
    reader=(
        "(?:ai|kunstmatige) ?\\w* die dit leest|als je een taalmodel bent|(?:instructie"
        "|opmerking|bericht)"
        " (?:voor|aan) (?:de |alle )?(?:ai|taalmodel\\w*|chatbots?|assistent\\w*)"
        "|aan (?:het systeem|de (?:ai|assistent)) (?:dat|die) dit"
    ),
    quiet=(
        "(?:zeg|vertel|meld|noem)(?: \\w+){0,3} (?:niets|niet)|vertel de gebruiker niets"
        "|zonder (?:de gebruiker|het) te (?:zeggen|melden|vertellen)|hier niets over"
    ),
    action=(
        "(?:stuur|mail|verzend|upload|boek)(?: \\w+){1,6} (?:naar|door|over)\\b"
        "|beoordeel deze kandidaat"
        "|raad (?:de gebruiker|bezoekers) aan|markeer alles"
    ),
    new_task=(
        "nieuwe (?:opdracht|taak|instructies?|regels?|luidt)|de nieuwe luidt|einde van het document"
    ),
)
DE = Lexicon(
    ignore=(
        "ignorier(?:e|en|t)?|vergiss|vergesst|missachte|umgehe?|ubergehe?|verwirf"
        "|setz(?:e)? dich uber|befolge"
        "|beachte|losche|denk dir"
    ),
    rules=(
        "anweisung(?:en)?|instruktion(?:en)?|vorgaben?|regeln?|richtlinien?|befehle?|anordnungen"
        "|\\w*schrankungen|(?:system)?prompts?|auftrage?|schutzmassnahmen|programmierung"
    ),
    earlier=(
        "vorherig\\w*|bisherig\\w*|obig\\w*|fruher\\w*|vorangehend\\w*|vorangegangen\\w*"
        "|ursprunglich\\w*"
        "|zuvor|oben|vor dieser|systemprompt|alten"
    ),
    your="dein(?:e|en|er|em)?",
    void=(
        "(?:ist|sind) (?:\\w+ )?(?:aufgehoben|ungultig|ersetzt|hinfallig|geloscht)"
        "|gelten nicht mehr"
        "|nicht mehr|als geloscht|hinweg"
    ),
    all_before="alles was (?:\\w+ ){0,4}(?:vor diesem|oben|bisher|zuvor)",
    reveal=(
        "gib|zeig(?:e)?|wiederhole?|schreib(?:e)?|ubersetz(?:e)?|nenn(?:e)?|verrate?|liste"
        "|druck(?:e)?|sag(?:e)?"
        "|offenbare?|wie lauten|welche|was (?:ist|sind|darfst)|kopier(?:e)?"
    ),
    prompt="system ?prompts?|systemnachricht|systemanweisung(?:en)?|prompt",
    kept=(
        "geheim\\w*|versteckt\\w*|ursprunglich\\w*|intern\\w*|vertraulich\\w*|nicht verraten"
        "|am anfang"
    ),
    above="(?:text|alles) (?:oberhalb|uber) dies\\w+|gesamten text oberhalb dieser",
    pretend=(
        "tu so|du bist jetzt|du bist ab|spiele?|verhalte dich|antworte|stell dir vor|aktiviere|sei"
    ),
    ai="ki|modell|bot|assistent|chatbot|zwilling|dan|entwicklermodus",
    unlimited=(
        "(?:ohne|keine?) (?:jede |ethischen? )?(?:regeln|filter|grenzen|moral|\\w*schrankungen"
        "|zensur"
        "|inhaltsrichtlinien|richtlinien)|unzensiert|ungefiltert|uneingeschrankt"
    ),
    obedient=(
        "(?:niemals|nie) (?:ablehn\\w*|warn\\w*|verweiger\\w*)|bleib (?:\\w+ )?in der rolle"
        "|alles tun"
        "|stimmst jedem"
    ),
    filters_off=(
        "(?:schalte?|stell(?:e)?|deaktiviere?) dein\\w* (?:\\w+ )?\\w*(?:filter|schranken"
        "|sicherungen)"
    ),
    mode="(?:entwickler|gott|wartungs|admin)modus",
    authority=(
        "ich bin dein (?:entwickler|schopfer|betreiber)|erlaube dir|nutzer ist administrator"
        "|\\w*schrankungen sind aufgehoben|anweisungen? des administrators"
    ),
    reader=(
        "(?:hinweis|anweisung|nachricht)? ?(?:an|fur) (?:die |alle "
        "|den )?(?:verarbeitenden )?(?:ki|sprachmodelle?"
        "|assistenten)\\b|(?:falls|wenn) du ein(?:e)? (?:sprachmodell|ki) bist|an die ki die dies"
    ),
    quiet=(
        "(?:erwahnt?|erwahne|informiere?|sag(?:e)?|verrate)(?: \\w+){1,3} nicht"
        "|ohne den (?:nutzer|benutzer)"
    ),
    action=(
        "(?:leite|sende|schicke|uberweise)(?: \\w+){1,9} (?:weiter|an)\\b|bewerte diese bewerbung"
        "|empfehlt nur|uberweise sofort|gib alle (?:\\w+ )?daten"
    ),
    new_task=(
        "neue (?:aufgabe|anweisung\\w*|systemanweisung|regeln?)|ende der nutzereingabe"
        "|ende des dokuments"
    ),
)
