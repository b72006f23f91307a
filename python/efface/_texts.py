"""Texts in messages: the library knows numbers, the caller gave texts."""

import re

from ._efface import NotFoundError


def _texts(given):
    if isinstance(given, str):
        return [given]
    try:
        return [str(item) for item in given if isinstance(item, str)]
    except TypeError:  # no collection, but one number or nothing
        return []


def name_texts(error, text_id, *collections):
    """The error, with the texts that the caller gave in the place of their numbers.

    `text_id` makes the number of a text; collections are ids and owners as they were given.
    """
    message = str(error)
    if type(error) not in (NotFoundError, ValueError) or not re.search(r"\d{5}", message):
        return error
    found = {}
    for given in collections:
        for text in _texts(given):
            try:
                found[str(text_id(text))] = repr(text)
            except UnicodeError:  # a text that cannot be encoded is not what the message is about
                continue
    named = re.sub(r"\d+", lambda match: found.get(match.group(), match.group()), message)
    return error if named == message else type(error)(named)
