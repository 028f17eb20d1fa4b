"""The catalogue of kinds that clients read."""

from docs.generate import kinds_file
from sde.wire import catalogue
from synopses import KINDS


def test_the_file_of_kinds_is_up_to_date() -> None:
    written = kinds_file.PATH.read_text(encoding="utf-8")
    assert written == kinds_file.text(), "run: python -m docs.generate.kinds_file"


def test_the_catalogue_tells_every_parameter_and_question() -> None:
    assert list(catalogue.kinds()) == sorted(KINDS)
    for kind, cls in KINDS.items():
        told = catalogue.kinds()[kind]
        assert told.parameter_names == list(cls.parameters)
        assert told.question_names == list(cls.questions)
        assert told.doc
