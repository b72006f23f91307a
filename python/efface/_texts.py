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


def first_text(given, message):
    """The first of the texts in a collection that a message names; None if it names none."""
    return next((text for text in _texts(given) if repr(text) in message), None)


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
            except ValueError:  # a text that is no name is not what the message is about
                continue
    named = re.sub(r"\d+", lambda match: found.get(match.group(), match.group()), message)
    return error if named == message else type(error)(named)
