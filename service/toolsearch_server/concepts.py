"""Concepts: words that mean nearly the same to somebody who looks for a tool.

A user says "remove the repo", the tool says "Deletes a repository". Both words belong to a concept here, and entries are found
by concept too, for less than by the word itself. The table is ours, made from what tools are generally about; a line is a
concept, and a word may belong to several.
"""

from collections.abc import Iterable

from toolsearch_server import text

_TABLE = """
    create add new make open insert register compose start initialize
    list get show retrieve fetch view display check see lookup browse enumerate
    delete remove drop erase clear destroy uninstall purge
    update edit modify change set adjust rename alter replace
    configure setup setting preference option customize
    send post publish notify deliver forward
    search find query lookup discover locate
    run execute invoke launch trigger start
    generate create produce render build compose design
    convert transform translate format export
    compare diff difference versus contrast
    calculate compute evaluate estimate solve determine
    download fetch scrape crawl extract pull
    upload import load push
    copy duplicate clone backup replicate
    move transfer migrate relocate
    read open view
    write save store persist
    analyze analysis analyse examine inspect insight assess
    monitor track watch observe
    recommend suggest suggestion recommendation advice advise tip idea
    explain describe detail information info
    summarize summary summarise overview digest abstract
    verify validate check test confirm
    connect link attach join
    stop end terminate kill halt shutdown cancel
    pause resume restart reboot
    enable disable activate deactivate toggle turn switch
    approve reject review
    assign allocate delegate
    invite add member
    count number total amount quantity
    sort order rank top best trend trending popular
    filter select choose pick
    split divide separate
    merge combine join concatenate
    upload attach attachment file
    book reserve reservation schedule appointment
    buy purchase order shop shopping product store
    sell seller listing marketplace
    pay payment invoice bill billing charge checkout
    refund return
    price cost pricing expense fee budget
    discount coupon deal sale offer promo
    stock share ticker equity
    finance financial market investment invest investor portfolio
    crypto bitcoin cryptocurrency coin token blockchain ethereum wallet
    currency exchange money dollar
    bank account balance transaction
    tax income salary
    weather forecast temperature climate rain wind
    image picture photo visual illustration artwork
    video movie film clip youtube
    music song track audio playlist artist album
    podcast audio episode
    voice speech audio sound speak
    chart graph plot diagram visualization visualize
    map location place address coordinate geocode geographic city
    route direction navigation drive distance travel
    travel trip vacation tour itinerary destination
    flight airline airport plane
    hotel accommodation stay lodging room
    restaurant food dining meal cuisine eat
    recipe cook ingredient meal
    drink wine cocktail
    nutrition diet calorie fitness workout exercise
    health medical doctor medicine disease symptom patient
    job career employment resume hire work
    news article headline story
    book novel read reading literature library
    paper research academic scholar scientific publication arxiv journal
    course lesson learn education study tutor teach student school
    language translate translation dictionary word vocabulary
    quiz question answer trivia
    game play player gaming
    sport team league match score
    law legal lawyer contract
    house home property estate real rent apartment mortgage
    car vehicle auto automobile ride taxi
    fashion outfit style clothes clothing wear beauty
    gift present
    event concert show ticket festival
    calendar event meeting schedule appointment
    task todo reminder
    note memo document
    email mail inbox message
    message chat sms text dm
    contact person people user member profile
    customer client lead crm
    company business organization enterprise
    marketing advertising ad campaign seo
    social media post tweet twitter
    website web site page url webpage link domain
    browser navigate tab page click
    screenshot capture image
    pdf document
    document doc file word text
    spreadsheet excel csv sheet table
    presentation slide powerpoint deck
    file folder directory path
    repository repo git github
    pr pull request merge
    issue bug ticket defect
    commit change revision version history
    branch tag release
    code program programming script function software developer
    deploy deployment release publish host
    build compile
    test testing
    database db sql table query schema
    row record entry item
    key secret password credential token
    auth authentication login sign authorize
    permission role access policy
    vm machine instance compute server
    container docker image registry
    kubernetes k8s cluster pod aks
    cloud azure aws
    network ip address dns domain
    log logging trace audit event
    metric monitoring telemetry performance
    alert alarm notification warning
    error failure exception problem issue
    queue topic message bus
    storage blob bucket container disk
    cache redis
    api endpoint rest webhook
    json xml yaml data
    data dataset statistic
    ai llm model chatgpt gpt prompt
    embedding vector index search
    math equation number formula calculate
    date time day hour timezone clock
    random generate
    color colour palette
    qr code barcode
    astrology horoscope tarot
    art museum painting
    space planet astronomy nasa
    gene protein biology
    molecule chemistry compound chemical
"""


_GROUPS = [dict(zip(text.stems(line.split()), line.split(), strict=True)) for line in _TABLE.strip().splitlines()]
"""Words by stem."""


def _concepts_by_stem() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for number, group in enumerate(_GROUPS):
        for stem in group:
            found.setdefault(stem, []).append(str(number))
    return {stem: tuple(concepts) for stem, concepts in found.items()}


_CONCEPTS = _concepts_by_stem()
_RELATED = {
    stem: tuple(dict.fromkeys(item for number in numbers for item in _GROUPS[int(number)].items() if item[0] != stem))
    for stem, numbers in _CONCEPTS.items()
}


_BITS = {stem: sum(1 << int(concept) for concept in concepts) for stem, concepts in _CONCEPTS.items()}


def concept_bits(stem: str) -> int:
    """The concepts of a stem as a set of bits."""
    return _BITS.get(stem, 0)


def concepts(stems: Iterable[str]) -> list[str]:
    """The concepts of stems, one for each time that one is meant."""
    return [concept for stem in stems for concept in _CONCEPTS.get(stem, ())]


def related(stem: str) -> tuple[tuple[str, str], ...]:
    """Stems, each with its word, that share a concept with this one."""
    return _RELATED.get(stem, ())
