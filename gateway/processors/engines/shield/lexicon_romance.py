"""The lexicons of French, Spanish, Italian and Portuguese."""

from __future__ import annotations

from gateway.processors.engines.shield.lexicon import Lexicon

FR = Lexicon(
    ignore=(
        "ignore[rz]?|oublie[rz]?|neglige[rz]?|fai(?:s|tes) abstraction|ne ti(?:ens"
        "|enne) (?:plus|pas) compte"
        "|ne suis (?:plus|pas)|contourne[rz]?|efface[rz]?|considere que"
    ),
    rules=(
        "instructions?|consignes?|directives?|regles?|ordres?|restrictions?|limites|prompts?"
        "|message systeme|protections?|normes"
    ),
    earlier=(
        "precedent\\w*|anterieur\\w*|ci dessus|prealable\\w*|initial\\w*|d avant|recu\\w*|plus haut"
        "|systeme|d origine|de securite"
    ),
    your="tes|ton|ta",
    void=(
        "(?:est|sont) (?:\\w+ )?(?:annule\\w*|remplace\\w*|leve\\w*|supprime\\w*|caduc\\w*|nul\\w*)"
        "|ne s appliquent plus|n ont jamais existe"
    ),
    all_before="tout ce qui (?:precede|est au dessus|est avant)|tout ce que l on t a dit",
    reveal=(
        "affiche|repete|montre(?: moi)?|traduis|ecris|donne|revele|dis(?: moi)?|recite|copie"
        "|quel(?:le)?s?"
        " (?:est|sont)|liste"
    ),
    prompt="(?:prompt|message|invite) systeme|prompt",
    kept="secret\\w*|cache\\w*|initial\\w*|interne\\w*|confidentiel\\w*|au debut",
    above="(?:texte|tout)(?: \\w+){0,5} (?:au dessus de ce message|plus haut|ci dessus)",
    pretend=(
        "fai(?:s|tes) semblant|tu es (?:maintenant|desormais)|joue|comporte toi|reponds|active"
        "|imagine"
    ),
    ai="ia|intelligence artificielle|modele|robot|bot|assistant|dan|mode developpeur",
    unlimited=(
        "(?:sans|aucune?|n a (?:pas de|aucune?)) (?:aucune? )?(?:regles?|filtres?|limites?"
        "|morale|restrictions?"
        "|censure|ethique)|non censure"
    ),
    obedient=(
        "(?:ne |n )(?:refuse|avertit|previent) (?:jamais|rien)|ne sors jamais de ton role"
        "|repond a tout"
        "|acceptes? chaque demande|toutes ses demandes"
    ),
    filters_off=(
        "desactive tes (?:\\w+ )?(?:filtres?|protections?|securites?)|desactive tes filtres"
    ),
    mode="mode (?:developpeur|dieu|admin|maintenance|debug)",
    authority=(
        "je suis ton (?:developpeur|createur|administrateur)|je t autorise"
        "|utilisateur est administrateur"
        "|instructions de l administrateur"
    ),
    reader=(
        "(?:note|message|instructions?) (?:aux|pour les|a l) (?:assistants?|ia|intelligences?)"
        "|si tu es un modele|a l (?:intelligence artificielle|ia|assistant) qui"
    ),
    quiet=(
        "ne (?:parl\\w*|dis|mentionn\\w*|prevenez|previens)(?: \\w+)? (?:pas|rien)"
        "|sans (?:prevenir|avertir"
        "|informer) l utilisateur"
    ),
    action=(
        "(?:transfere|envoie|transmets|poste)(?: \\w+){1,6} a \\w+ \\w+"
        "|envoie toutes les donnees|recommandez ce"
        " produit|donne la meilleure note|marque tout"
    ),
    new_task="nouvel(?:le)?s? (?:tache|instructions?|regles?|mission)|fin du document",
)
ES = Lexicon(
    ignore=(
        "ignor(?:a|e|en|ar)|olvid(?:a|e|ar|ate)|descart(?:a|e|ar)|ha(?:z|ga) caso omiso"
        "|no sigas|no obedezcas|desestima"
        "|pasa por alto|no hagas caso|elude|borra|saltate"
    ),
    rules=(
        "instruccion(?:es)?|reglas?|normas|directrices|ordenes|indicaciones|restricciones"
        "|directivas"
        "|prompts?|limitaciones|mensaje del sistema|protecciones"
    ),
    earlier=(
        "anterior(?:es)?|previ[ao]s?|precedentes?|arriba|iniciales|original(?:es)?|hasta ahora"
        "|que te dieron"
        "|recibi\\w+|del sistema|de seguridad"
    ),
    your="tus?",
    void=(
        "(?:queda[n]?|esta[n]?|son|fueron) (?:\\w+ )?(?:anulad\\w+|sustituid\\w+|cancelad\\w+"
        "|borrad\\w+|nul\\w+)"
        "|ya no (?:valen|aplican|se aplican)"
    ),
    all_before="todo lo (?:anterior|que (?:te dije|esta arriba|precede))",
    reveal=(
        "muestra|repite|traduce|revela|di(?:me)?|escribe(?:las)?|imprime|copia|ensename"
        "|cuales? (?:es|son)"
        "|lista|dame"
    ),
    prompt="prompt(?: de(?:l)? sistema)?|mensaje del sistema",
    kept="secret\\w*|ocult\\w*|inicial\\w*|intern\\w*|confidencial\\w*|al principio",
    above="(?:texto|todo)(?: \\w+){0,4} (?:encima de este|arriba|antes de este)",
    pretend=(
        "finge|ahora eres|eres|interpreta|actua como|compor?tate|responde|activa|imagina"
        "|haz de cuenta"
    ),
    ai="ia|inteligencia artificial|modelo|robot|bot|asistente|dan|modo desarrollador",
    unlimited=(
        "(?:sin|ningun\\w*|no tiene|carece de) (?:ningun\\w* )?(?:reglas?|filtros?|limites?"
        "|moral|restricciones"
        "|censura|etica)"
    ),
    obedient=(
        "nunca (?:se niega|rechaza|advierte|avisa)|no salgas del personaje|contesta todo"
        "|dices que si a todo"
        "|todas sus peticiones"
    ),
    filters_off="(?:desactiva|apaga|quita) tus (?:\\w+ )?(?:filtros?|protecciones|restricciones)",
    mode="modo (?:de )?(?:desarrollador|dios|admin\\w*|mantenimiento)",
    authority=(
        "soy tu (?:desarrollador|creador|administrador)|te autorizo|usuario es administrador"
        "|instrucciones del administrador"
    ),
    reader=(
        "(?:nota|mensaje|instruccion(?:es)?) (?:para|a) (?:los|las|la) (?:asistentes?|ias?)"
        "|si eres un modelo"
        "|al? (?:la )?(?:ia|asistente) que"
    ),
    quiet=(
        "no (?:mencion\\w+|digas|avises|cuentes)(?: \\w+)? (?:esta|este|esto|nada|al)"
        "|sin (?:avisar|informar) al"
        " usuario"
    ),
    action=(
        "(?:reenvia|envia|manda|transfiere)(?: \\w+){1,5} a \\w+ \\w+|envia todos los datos"
        "|recomienden este producto"
        "|dale la puntuacion|marcalo todo"
    ),
    new_task="nuev(?:a|o|as|os) (?:tarea|instruccion(?:es)?|reglas?|mision)|fin del documento",
)
IT = Lexicon(
    ignore=(
        "ignora(?:re|te)?|dimentica(?:re|te)?|trascura|scarta|non seguire|non tenere conto"
        "|lascia perdere"
        "|tralascia|scavalca|aggira(?:re)?|cancella"
    ),
    rules=(
        "istruzion[ei]|regol[ea]|direttiv[ea]|ordini|indicazioni|comandi|restrizioni|limitazioni"
        "|linee guida|prompt|messaggio di sistema|protezioni"
    ),
    earlier=(
        "precedent[ei]|preced\\w+|anterior[ei]|sopra|inizial[ei]|original[ei]|ricevut\\w|finora"
        "|che ti hanno"
        "|di sistema|di sicurezza"
    ),
    your="tu[oae]|tuoi",
    void=(
        "non valgono piu|(?:e|sono) (?:\\w+ )?(?:annullat\\w|sostituit\\w|cancellat\\w"
        "|revocat\\w|null\\w)"
    ),
    all_before="tutto (?:quello|cio) che (?:precede|e sopra|hai ricevuto)",
    reveal=(
        "mostra(?:mi)?|ripeti|traduci|rivela|dimmi|scrivi(?:le)?|stampa|copia|qual[ie] (?:e"
        "|sono)|elenca|dammi"
    ),
    prompt="prompt(?: di sistema)?|messaggio di sistema",
    kept="segret\\w*|nascost\\w*|inizial\\w*|intern\\w*|riservat\\w*|all inizio",
    above="(?:testo|tutto)(?: \\w+){0,4} sopra (?:questo|qui)",
    pretend=("fai finta|adesso sei|ora sei|sei|interpreta|comportati|rispondi|attiva|immagina"),
    ai="ia|intelligenza artificiale|modello|robot|bot|assistente|dan|modalita sviluppatore",
    unlimited=(
        "(?:senza|nessun\\w*|non ha) (?:alcun\\w* )?(?:regole?|filtri|filtro|limiti|morale"
        "|restrizioni|censura"
        "|etica)"
    ),
    obedient=(
        "non (?:rifiuta|avverte|si rifiuta) mai|non uscire mai dal personaggio|risponde a tutto"
        "|ogni sua richiesta"
    ),
    filters_off="(?:disattiva|spegni|togli) i tuoi (?:\\w+ )?(?:filtri|protezioni|limiti)",
    mode="modalita (?:sviluppatore|dio|admin\\w*|manutenzione)",
    authority=(
        "sono il tuo (?:sviluppatore|creatore|amministratore)|ti autorizzo|utente e amministratore"
        "|istruzioni dell amministratore"
    ),
    reader=(
        "(?:nota|messaggio|istruzion[ei]) (?:per|a) (?:gli|la|l) (?:assistenti|ia)"
        "|se sei un modello"
        "|all (?:ia|assistente) che"
    ),
    quiet=(
        "non (?:cita\\w*|dire|menziona\\w*|parlare)(?: \\w+)? (?:quest\\w|nulla|niente)"
        "|senza (?:avvisare|informare)"
        " l utente"
    ),
    action=(
        "(?:inoltra|invia|manda|trasferisci)(?: \\w+){1,5} a \\w+ \\w+|invia tutti i dati"
        "|consigliate questo prodotto"
        "|punteggio massimo|segna tutto"
    ),
    new_task="nuov[oaie] (?:compito|istruzion[ei]|regol[ea])|fine del documento",
)
PT = Lexicon(
    ignore=(
        "ignor(?:a|e|em|ar)|esquec(?:a|e|am|er)|desconsider(?:a|e|ar)|descart(?:a|e|ar)"
        "|despreze|nao sigas?|nao"
        " obedeca|desobedeca|contorn(?:a|e|ar)|apague"
    ),
    rules=(
        "instruc(?:ao|oes)|regras?|diretrizes|ordens|orientacoes|comandos|restricoes|limitacoes"
        "|prompts?"
        "|mensagem do sistema|protecoes"
    ),
    earlier=(
        "anterior(?:es)?|previ[ao]s|acima|precedentes|iniciais|originais|ate agora|que recebeu"
        "|do sistema"
        "|de seguranca|recebeu"
    ),
    your="(?:as |os )?(?:suas?|seus?|tuas?|teus?)",
    void=(
        "(?:esta[o]?|sao|foram) (?:\\w+ )?(?:cancelad\\w+|anulad\\w+|substituid\\w+"
        "|revogad\\w+)|nao valem mais"
    ),
    all_before="tudo o que (?:veio antes|esta acima|precede|recebeu)",
    reveal=(
        "mostre|repita|traduza|revele|diga|escreva(?: as)?|imprima|copie|quais? (?:e|sao)|liste"
        "|mostra"
    ),
    prompt="prompt(?: de sistema| do sistema)?|mensagem do sistema",
    kept="secret\\w*|ocult\\w*|inicia\\w*|intern\\w*|confidencia\\w*|no inicio",
    above="(?:texto|tudo)(?: \\w+){0,4} acima dest[ae]",
    pretend=("finja|agora voce e|voce e|interprete|aja como|comporte se|responda|ative|imagine"),
    ai="ia|inteligencia artificial|modelo|robo|bot|assistente|dan|modo desenvolvedor",
    unlimited=(
        "(?:sem|nenhum\\w*|nao tem) (?:nenhum\\w* )?(?:regras?|filtros?|limites?|moral"
        "|restricoes|censura|etica)"
    ),
    obedient=(
        "nunca (?:recusa|avisa|nega)|nao saia do personagem|responde a tudo|todos os pedidos dele"
    ),
    filters_off=(
        "(?:desative|desligue|remova) (?:os )?(?:seus|teus) (?:\\w+ )?(?:filtros?|protecoes"
        "|limites)"
    ),
    mode="modo (?:de )?(?:desenvolvedor|deus|admin\\w*|manutencao)",
    authority=(
        "sou o seu (?:desenvolvedor|criador|administrador)|autorizo voce|usuario e administrador"
        "|instrucoes do administrador"
    ),
    reader=(
        "(?:nota|mensagem|instruc(?:ao|oes)) (?:para|a) (?:os|as|a) (?:assistentes?|ias?)"
        "|se voce e um modelo"
        "|a(?:o)? (?:ia|assistente) que"
    ),
    quiet=(
        "nao (?:mencione\\w*|diga|conte)(?: \\w+)? (?:est[ae]|nada|isto|isso)|sem (?:avisar"
        "|informar) o usuario"
    ),
    action=(
        "(?:encaminhe|envie|mande|transfira)(?: \\w+){1,5} para \\w+ \\w+|envie todos os dados"
        "|recomendem este produto"
        "|nota maxima|marque tudo"
    ),
    new_task="nov[oa]s? (?:tarefa|instruc(?:ao|oes)|regras?)|fim do documento",
)
