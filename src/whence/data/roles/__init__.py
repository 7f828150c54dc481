"""Semantic roles of sentences: from a file, from phrase-structure trees, or from a dependency parser that the user names."""

from whence.data.roles.constituency import roles_of_parse
from whence.data.roles.dependency import roles_by_parser, roles_of_doc
from whence.data.roles.file import read_roles
from whence.data.roles.lemmas import lemma
from whence.data.roles.roles import Argument, Predicate, Roles

__all__ = ["Argument", "Predicate", "Roles", "lemma", "read_roles", "roles_by_parser", "roles_of_doc", "roles_of_parse"]
