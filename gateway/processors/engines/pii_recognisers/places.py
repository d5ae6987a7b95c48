"""Addresses by their form, and cities by name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gateway.processors.engines.pii_recognisers.text import WORD_END, WORD_START, Finding, Text

_CAP = r"[A-ZÀ-ÖØ-Þ][\w'-]+"
_NUMBER = r"\d{1,5}(?:[- ]?[a-zA-Z](?!\w))?(?:[-/]\d{1,4})?"
_STREETS = (
    # 221B Baker Street, 10 Downing St.
    re.compile(
        r"(?<!\w)"
        + (
            rf"\d{{1,5}}[A-Za-z]? (?:(?:North|South|East|West|[NSEW]\.?) )?(?:{_CAP} ){{1,3}}"
            r"(?:Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Dr|Boulevard|Blvd|Court|Way|Place|Square|Terrace"
            r"|Close|Crescent|Gardens|Parkway|Highway|Row|Hill|Mews)\b\.?"
        )
    ),
    # Keizersgracht 123-2, Lange Voorhout 8
    re.compile(
        r"(?<!\w)"
        + (
            rf"(?:{_CAP} ){{0,2}}[A-ZÀ-Þ]\w*(?:straat|weg|laan|plein|kade|gracht|dijk|singel|hof"
            rf"|dreef"
            rf"|steeg"
            rf"|markt|stra(?:ß|ss)e|str\.|allee|platz|gasse|ring|damm|ufer|chaussee|pad) {_NUMBER}"
        )
    ),
    # Hoher Weg 3
    re.compile(
        r"(?<!\w)"
        + (rf"{_CAP} (?:Stra(?:ß|ss)e|Str\.|Weg|Allee|Platz|Gasse|Ring|Damm|Ufer) {_NUMBER}")
    ),
    # 12 bis, rue de la Paix
    re.compile(
        r"(?<!\w)"
        + (
            r"\d{1,4}(?: ?(?:bis|ter))?,? (?:rue|avenue|av\.|boulevard|bd|place|impasse|chemin"
            r"|all[eé]e"
            r"|quai|cours"
            rf"|route|square|passage)(?: (?:de|du|des|la|le|les|d'|l'|et"
            rf"|en))*(?: (?:[dl]')?{_CAP}){{1,4}}"
        )
    ),
    # Calle de Alcalá, 42; Via Roma 10; Rua Augusta, n.º 100
    re.compile(
        r"(?<!\w)"
        + (
            r"(?i:calle|c/|avenida|avda?\.|plaza|paseo|pº|camino|carretera|ronda|via|viale|piazza|piazzale|corso"
            r"|largo|vicolo|strada|rua|pra[cç]a|travessa|estrada|alameda|r\.)"
            rf"(?: (?:de|del|della|dei|degli|di|da|do|das|dos|la|el|los|las|lo|e"
            rf"|y))*(?: {_CAP}){{1,4}}"
            rf"(?: (?:de|del|da|do|dos|di)(?: {_CAP}){{1,2}})?,? (?:n\.?[ºo°]\.? ?)?{_NUMBER}"
        )
    ),
)
_UK_POSTCODE = re.compile(
    r"(?<!\w)(?:GIR ?0AA|[A-PR-UWYZ](?:\d{1,2}|[A-HK-Y]\d{1,2}|\d[A-HJKPSTUW]"
    r"|[A-HK-Y]\d[ABEHMNPRV-Y])"
    r" ?\d[ABD-HJLNP-UW-Z]{2})(?!\w)"
)
_NL_POSTCODE = re.compile(r"(?<!\w)[1-9]\d{3} ?(?!SA|SD|SS)[A-Z]{2}(?!\w)")
_PT_POSTCODE = re.compile(rf"(?<![\w-])[1-9]\d{{3}}-\d{{3}}(?: {_CAP})?(?![\w-])")
_US_POSTCODE = re.compile(r"(?<!\w)[A-Z]{2} \d{5}(?:-\d{4})?(?!\w)")
_FIVE_DIGITS = re.compile(
    rf"(?<![\w.,-])\d{{5}} (?:{_CAP})(?: (?:am|an der|de|la|di|del) {_CAP}| {_CAP})?"
)
_LIVES = re.compile(
    WORD_START
    + (
        r"live[sd]? (?:in|at)|living in|address\w*|reside[sd]?|woon\w*|wonen\w*|adres\w*|verhuis\w*"
        r"|wohn\w*|lebt|anschrift|adresse|umgezogen|habit\w*|demeur\w*|domicili\w*|viv[eoi]\w*"
        r"|resid\w*|direcci[oó]n|abit\w*|indirizzo|mor[ao]\w?|morada|endere[cç]o|deliver\w*|ship\w*"
        r"|bezorg\w*|liefer\w*|livr\w*|entreg\w*|consegn\w*"
    )
    + WORD_END,
    re.IGNORECASE,
)
_CITIES = """
Aachen Almere Amersfoort Amsterdam Antwerpen Antwerp Apeldoorn Arnhem Athens Atlanta Augsburg
Austin Avignon Badajoz Baltimore Barcelona Bari Basel Belfast Bergamo Bergen Berlin Bern Besançon
Bielefeld Bilbao Birmingham Bochum Bologna Bonn Bordeaux Boston Braga Bratislava Braunschweig
Breda Bremen Brest Brescia Brighton Bristol Brno Brugge Bruges Brussel Brüssel Brussels Bruxelles
Bucharest Budapest Burgos Cádiz Cagliari Calgary Cambridge Cardiff Cartagena Catania Chemnitz
Chicago Cleveland Coimbra Cologne Copenhagen Córdoba Coventry Dallas Darmstadt Delft Denver
Detroit Deventer Dijon Dordrecht Dortmund Dresden Dublin Duisburg Dundee Düsseldorf Edinburgh
Eindhoven Enschede Erfurt Évora Faro Ferrara Firenze Florence Frankfurt Freiburg Funchal Gdańsk
Gelsenkirchen Geneva Genève Genova Genoa Gent Ghent Gijón Glasgow Göteborg Göttingen Granada Graz
Grenoble Groningen Haarlem Hamburg Hannover Heidelberg Helsinki Hilversum Houston Innsbruck
Istanbul Karlsruhe Kassel Kiel Köln Kraków Krefeld Lausanne Leeds Leeuwarden Leicester Leiden
Leipzig Leiria Lille Limoges Lisboa Lisbon Lissabon Liverpool Ljubljana London Londres Londra
Londen Louvain Lübeck Luxembourg Lyon Maastricht Madrid Magdeburg Mainz Málaga Manchester Mannheim
Marseille Melbourne Messina Miami Milan Milano Minneapolis Modena Mönchengladbach Montpellier
Montréal Montreal Mulhouse München Munich Münster Murcia Nancy Nantes Napoli Naples Nashville
Newcastle Nijmegen Nîmes Norwich Nottingham Nürnberg Oakland Oldenburg Orléans Oslo Ottawa Oviedo
Padova Palermo Pamplona Paris París Parigi Parma Perugia Pescara Philadelphia Phoenix Pittsburgh
Plymouth Poitiers Portimão Porto Portland Potsdam Prague Praag Praga Reims Rennes Rimini Roma Rome
Rostock Rotterdam Rouen Saarbrücken Sacramento Salamanca Salerno Salzburg Santander Seattle
Setúbal Sevilla Seville Sheffield Siena Southampton Stockholm Strasbourg Stuttgart Sydney Tallinn
Taranto Tarragona Tilburg Toledo Torino Toronto Toulon Toulouse Tours Trento Trier Trieste Turin
Ulm Uppsala Utrecht Valencia Valladolid Vancouver Venezia Venice Venlo Verona Vicenza Vienna Vigo
Vilnius Warsaw Warschau Washington Wien Wiesbaden Wolfsburg Worcester Wuppertal Würzburg Zaragoza
Zürich Zurich Zwolle
"""
_CITY_NAMES = frozenset(_CITIES.split())
_WORD = re.compile(r"(?<![\w@/.-])[A-ZÀ-ÖØ-Þ]\w+(?![\w@/]|-\w)")
_LONG_CITY = re.compile(
    r"(?<![\w@/.-])(?:New York(?: City)?|Los Angeles|San Francisco|San Diego|Den Haag|The Hague"
    r"|La Haye|São Paulo|Rio de Janeiro|Saint-Étienne|San Sebastián|La Coruña|A Coruña|Las Palmas"
    r"|Le Havre|Aix-en-Provence|Vila Nova de Gaia|Clermont-Ferrand|Frankfurt am Main|Den Bosch"
    r"|'s-Hertogenbosch|Buenos Aires|Ciudad de México|Reggio Emilia)(?![\w@/]|-\w)"
)


def find_places(text: Text, languages: frozenset[str]) -> Iterator[Finding]:
    for street in _STREETS:
        for match in street.finditer(text.plain):
            yield text.find("LOCATION", match.start(), match.end(), 0.85)
    for match in _WORD.finditer(text.plain):
        if match[0] in _CITY_NAMES:
            yield text.find("LOCATION", match.start(), match.end(), 0.75)
    for match in _LONG_CITY.finditer(text.plain):
        yield text.find("LOCATION", match.start(), match.end(), 0.75)
    yield from _find_postcodes(text, languages)


def _find_postcodes(text: Text, languages: frozenset[str]) -> Iterator[Finding]:
    for pattern, home in (
        (_UK_POSTCODE, "en"),
        (_US_POSTCODE, "en"),
        (_NL_POSTCODE, "nl"),
        (_PT_POSTCODE, "pt"),
    ):
        if languages and home not in languages:
            continue
        for match in pattern.finditer(text.plain):
            yield text.find("LOCATION", match.start(), match.end(), 0.75)
    for match in _FIVE_DIGITS.finditer(text.plain):
        score = 0.8 if text.has_cue(_LIVES, match.start(), match.end(), after=0) else 0.5
        yield text.find("LOCATION", match.start(), match.end(), score)
