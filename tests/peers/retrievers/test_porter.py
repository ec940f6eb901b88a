"""Our Porter stemmer beside NLTK's, with the same departures."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer

from irtoolkit.base.porter import stem

PEER = PorterStemmer(PorterStemmer.MARTIN_EXTENSIONS)
_ENDINGS = """
s es sses ies ed eed ing y ational tional enci anci izer bli abli alli entli eli ousli ization ation ator alism
iveness fulness ousness aliti iviti biliti logi icate ative alize iciti ical ful ness al ance ence er ic able ible
ant ement ment ent sion tion ion ou ism ate iti ous ive ize e ll
"""
ENDINGS = _ENDINGS.split()


@given(
    st.text("aeiouybcdlstwxz'1\u00e9", max_size=7),
    st.lists(st.sampled_from(ENDINGS), max_size=2).map("".join),
)
def test_stems_are_nltks(root: str, ending: str) -> None:
    word = root + ending
    assert stem(word) == PEER.stem(word, to_lowercase=False)


def test_words_of_the_papers_own_examples() -> None:
    words = "caresses ponies cats agreed plastered motoring conflated hopping falling filing happy"
    stems = "caress poni cat agre plaster motor conflat hop fall file happi"
    assert [stem(word) for word in words.split()] == stems.split()
