"""The JSON that servers of OpenAI's chat completions protocol answer with: completions and errors."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from irtoolkit.models.llm.alternatives import alternatives_of
from irtoolkit.models.llm.generator import FILTERED, LENGTH, STOP, Completion

# Words of providers that withhold an answer, in small letters.
_WITHHELD = {
    FILTERED,
    "content_policy_violation",
    "data_inspection_failed",
    "responsibleaipolicyviolation",
    "safety",
    "recitation",
    "prohibited_content",
    "blocklist",
    "spii",
    "sensitive",
    "refusal",
}
# Ends of completions that a server has broken off.
_BROKEN = {
    "error",
    "abort",
    "aborted",
    "cancelled",
    "canceled",
    "timeout",
    "network_error",
    "insufficient_system_resource",
}
# Statuses of errors that have only a word.
_STATUSES = (
    (re.compile(r"rate_?limit|too_many_requests|resource_exhausted", re.IGNORECASE), 429),
    (re.compile(r"overload|unavailable|server_?error|internal|time_?out", re.IGNORECASE), 503),
)


class Failure(NamedTuple):
    """An error that a server reports.

    Attributes:
        status: as in HTTP; 200 if the server gives none.
        kinds: the words of its code and type.
        answer: the JSON with the error.
    """

    status: int
    kinds: list[Any]
    answer: Any

    @property
    def is_withheld(self) -> bool:
        """Whether a provider has refused the prompt or withheld the answer."""
        words = {kind.lower() for kind in self.kinds if isinstance(kind, str)}
        return self.status in (200, 400) and not words.isdisjoint(_WITHHELD)


def failure_of(answer: Any, status: int) -> Failure:
    """Returns the error in an answer that was sent with an HTTP status."""
    found = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(found, dict):
        return Failure(status, [], answer)
    inner = found.get("innererror")
    codes = [found.get("code"), found.get("type"), found.get("status")]
    kinds = [*codes, inner.get("code") if isinstance(inner, dict) else None]
    return Failure(_status_of(kinds) if status == 200 else status, kinds, answer)


def failure_in(answer: Any) -> Failure | None:
    """Returns the error that an answer with status 200 has in place of a completion, if any."""
    if not isinstance(answer, dict):
        return None
    if answer.get("object") == "error":
        return failure_of({"error": answer}, 200)
    if answer.get("error"):
        return failure_of(answer, 200)
    choice = _choice_of(answer)
    if choice is None:
        return None
    if isinstance(choice.get("error"), dict):
        return failure_of(choice, 200)
    ended = choice.get("finish_reason")
    if isinstance(ended, str) and ended.lower() in _BROKEN:
        return Failure(
            503, [], {"error": f"the completion was broken off (finish_reason {ended!r})"}
        )
    return None


def completion_in(answer: Any) -> Completion | None:
    """Returns the completion in an answer; None if it is not of the protocol.

    An answer with no choice, or a choice without a message, is one that the provider withholds.
    """
    if not isinstance(answer, dict):
        return None
    if answer.get("choices") == []:
        return Completion("", FILTERED)
    choice = _choice_of(answer)
    if choice is None or "message" not in choice:
        return None
    message, finish, model = choice["message"], choice.get("finish_reason"), answer.get("model")
    if message is None:
        return Completion("", LENGTH if finish == LENGTH else FILTERED)
    text = message.get("content") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(text, str | None):
        return None
    if message.get("refusal") or (isinstance(finish, str) and finish.lower() in _WITHHELD):
        finish = FILTERED
    return Completion(
        encodable(text or ""),
        encodable(finish) if isinstance(finish, str) else STOP,
        encodable(model) if isinstance(model, str) else None,
        alternatives_of(choice),
    )


def message_of(answer: Any, data: bytes) -> str:
    """Returns a server's words on an error: in OpenAI's form, another of JSON, or plain text."""
    found = answer
    for key in ("error", "message", "detail"):
        if isinstance(found, dict) and found.get(key):
            found = found[key]
    if not isinstance(found, str):
        found = data.decode("utf-8", "replace")
    return " ".join(found.split())


def encodable(text: str) -> str:
    """Returns a text that files can hold: JSON may spell half of a character outside the basic plane."""
    return text.encode("utf-8", "replace").decode()


def _choice_of(answer: dict[str, Any]) -> dict[str, Any] | None:
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    return choice if isinstance(choice, dict) else None


def _status_of(kinds: list[Any]) -> int:
    """Returns the status of an error that was sent with status 200."""
    numbers = [int(kind) for kind in kinds if re.fullmatch(r"[45]\d\d", str(kind))]
    words = " ".join(kind for kind in kinds if isinstance(kind, str))
    named = [status for pattern, status in _STATUSES if pattern.search(words)]
    return [*numbers, *named, 200][0]
