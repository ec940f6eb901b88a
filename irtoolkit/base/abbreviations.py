"""Abbreviations of Western languages, grouped by what a full stop after them means."""

from __future__ import annotations


def _words(*lists: str) -> frozenset[str]:
    return frozenset(" ".join(lists).split())


# A name or another word follows them inside a sentence.
INSIDE = _words(
    # English
    "mr mrs ms v messrs mme mlle dr drs ste mt mts prof profs rev revd esq lieut lt maj sergt sgt cpl capt cmdr"
    " wm thos chas jas geo edw robt th ph hon gov pres sen supt vs viz e.g i.e cf ca eds trans transl repr illus gen col vol vols ch chap pp",
    # German
    "hr hrn fr frl bzw z.b d.h d.i i.e u.a u.\u00e4 o.\u00e4 s.o s.u v.a m.e nr abs abt bd bde sog geb gest hg hrsg vgl ggf"
    " evtl kgl hl dipl z.t u.z bspw inkl str",
    # French
    "mm mgr mlles mmes p.ex c.-\u00e0-d c.\u00e0.d \u00e9d t.i",
    # Spanish, Portuguese, Italian
    "sr sres sra srta sras d\u00f1a sto sta fray ud uds vd vds p.ej exmo exma d.\u00aa sig sigg avv dott ee",
    # Dutch, Swedish, Danish, Norwegian
    "dhr mevr mej bijv d.w.z o.a nl t.ex d.v.s bl.a s.k f.d t.o.m fr.o.m hr fru frk herr kl ang",
    # Polish, Russian
    "np ul tzn tzw \u0442.\u0435 \u0442.\u043a \u0441\u0440 \u0441\u043c \u0443\u043b \u043f\u0440\u043e\u0444 \u0430\u043a\u0430\u0434 \u0438\u043c \u0441\u0432 \u043d\u0430\u043f\u0440",
)
# A number follows them inside a sentence; otherwise most of them are words.
BEFORE_NUMBERS = _words(
    "no nos fig figs p pp pg ch l ll sec secs sect art arts n nn \u00a7 fol ff f vol vols bd nr v vv app ep op par"
    " \u0441 \u0441\u0442\u0440 \u0442 \u0433\u043b chap ed t s str cap kap caps"
    " jan feb mar apr jun jul aug sep sept oct nov dec ibid cit p\u00e1g p\u00e1gs pag pagg n\u00fam abb taf",
)
# They may end a sentence; the word after them says whether they do.
UNCERTAIN = _words(
    "al jr sr st co inc ltd bros corp ft oz lb lbs b.c a.d b.c.e c.e ph.d m.d b.a m.a d.d dept univ sec secs sect art",
    "\u0442.\u0434 \u0442.\u043f \u0434\u0440 \u0433 \u0433\u0433 uu m.m o.s.v",
)
# They end a sentence where a capital follows.
FINAL = _words("etc usw u.s.w u.s.f a.m p.m ff enz osv itd itp")
# Words that begin sentences more often than names.
STARTERS = {
    "en": _words(
        "a an and as at but by did for from he her here his how however i if in it its my no not now on or our"
        " she so some such that the their then there these they this those though thus to we what when where"
        " which while who why with yet you your"
    ),
    "de": _words(
        "aber als auch da dann das der die doch ein eine er es ich ihr man nun so und wenn wir sie"
    ),
    "fr": _words("ce cela elle elles et il ils je la le les mais nous on puis un une vous"),
    "es": _words("\u00e9l ella ellos el la los las y pero un una yo entonces no se"),
    "it": _words("egli ella essi e ma il la lo un una poi non io si"),
    "sv": _words("han hon det den de och men jag vi s\u00e5 d\u00e5 ett en"),
    "nl": _words("hij zij ze het de en maar ik wij toen een"),
    "ru": _words(
        "\u043e\u043d \u043e\u043d\u0430 \u043e\u043d\u0438 \u043e\u043d\u043e \u0438 \u043d\u043e \u0430 \u044f \u043c\u044b \u0442\u043e\u0433\u0434\u0430 \u044d\u0442\u043e"
    ),
}
GERMAN_MONTHS = _words(
    "januar februar m\u00e4rz april mai juni juli august september oktober november dezember j\u00e4nner"
)
