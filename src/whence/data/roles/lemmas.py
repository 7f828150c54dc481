"""The lemma of an English verb by rules: a list of irregular forms, then endings.

`gave` → give, `studied` → study, `stopped` → stop, `hoping` → hope, `watches` → watch. A consonant that was doubled before the
ending is undoubled. Whether a final e was dropped cannot be seen, so it is guessed from the letters before the ending; a wrong
guess is the same for -ed and -ing, so these forms still equal each other.
"""

import re

_IRREGULAR = """
be am is are was were been being|have has had having|do does did done doing|go goes went gone
|see saw seen|say said|know knew known|think thought|tell told
|take took taken|give gave given|get got gotten getting|make made|come came|find found|leave left
|feel felt|bring brought|begin began begun|keep kept|hold held|write wrote written|stand stood|hear heard|mean meant|meet met
|run ran running|pay paid|sit sat sitting|speak spoke spoken|lead led|grow grew grown|lose lost|fall fell fallen|send sent
|build built|understand understood|draw drew drawn|break broke broken|spend spent|rise rose risen|drive drove driven|buy bought
|wear wore worn|choose chose chosen|eat ate eaten|sleep slept|fight fought|teach taught|catch caught|throw threw thrown
|ride rode ridden|sing sang sung|swim swam swum|drink drank drunk|win won|sell sold|fly flew flown flies|forget forgot forgotten
|hide hid hidden|steal stole stolen|shake shook shaken|wake woke woken|bite bit bitten|blow blew blown|feed fed|hang hung
|lie lay lain lying|shoot shot|slide slid|strike struck|swing swung|tear tore torn|sweep swept|dig dug|bend bent|lend lent
|become became|forgive forgave forgiven|freeze froze frozen|light lit|seek sought|shine shone|show shown|sink sank sunk
|swear swore sworn|die dies died dying|tie ties tied tying|ski skis skied skiing|use uses used using
"""
IRREGULAR = {
    form: forms.split()[0]
    for forms in _IRREGULAR.replace("\n", "").split("|") for form in forms.split()
}  # fmt: skip

_KEPT_DOUBLES = "lsfz"  # call, pass, stuff, buzz: these stay double; stopped and begging do not
_E_WAS_LOST = re.compile(
    r"""(?: [cvu] | [^n]g | (?:ch|r)ang | ung      # dance, move, argue, manage, change, lounge; not bring
          | [^aeiourlw]l | ul                      # handle, schedule; not curl, crawl, fail
          | [aeiou](?<!foc[aeiou])s | [nrl]s | [aeiou]z  # chase, rinse, nurse, realize
          | (?<![aeo])at | (?<=cr)eat | [cnv]it | [^o]ut  # skate, invite, salute; not repeat, visit
          | (?:m|v|qu|den)ot | (?:l|mp)et          # promote, delete
          | (?<![aeiou])[aiou]d | uid              # decide, invade, explode, include; not avoid
          | (?<![aeiou])[iau]r | quir | (?:pl|gn|st|d)or # admire, compare, measure, explore; not offer, honor
          | (?<![aeiou])in | ven | pon             # combine, postpone; not explain, listen
          | um | scap | vok | rib | ath | oth | east | [ptw]ast | hal
        )$""",
    re.VERBOSE,
)
"""Letters before -ed and -ing that nearly always had an e after them, in verbs of more than one syllable or ending so."""


def lemma(verb: str) -> str:
    """The lemma of a verb in any form, lower-cased."""
    form = verb.lower()
    if form in IRREGULAR:
        return IRREGULAR[form]
    if len(form) > 4 and form.endswith(("ies", "ied")):
        return form[:-3] + "y"
    if re.search(r"(?:ss|x|zz|ch|sh|o)es$", form):
        return form[:-2]
    if form.endswith("s") and not form.endswith(("ss", "us", "is")):
        return form[:-1]
    for ending in ("ing", "ed"):
        stem = form.removesuffix(ending)
        if stem != form and len(stem) > 1 and re.search(r"[aeiouy]", stem):
            return _whole(stem)
    return form


def _whole(stem: str) -> str:
    """A stem that has lost -ed or -ing, with the letters that it lost or gained there put right."""
    if stem[-1] == stem[-2] and stem[-1] not in "aeiou" + _KEPT_DOUBLES:
        return stem[:-1]
    short = re.fullmatch(r"[^aeiou]*[aeiouy][^aeiouwxy]", stem)  # hop-ping doubles its consonant, so hop-ing is of hope
    return stem + "e" if short or _E_WAS_LOST.search(stem) else stem
