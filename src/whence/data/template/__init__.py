"""How an example becomes a model's input and target text: templates as values. docs/templates.md tells how to write one."""

from whence.data.template.file import open_template
from whence.data.template.known import TEMPLATES
from whence.data.template.parse import Parsed
from whence.data.template.pattern import Rendered
from whence.data.template.template import Template

__all__ = ["TEMPLATES", "Parsed", "Rendered", "Template", "open_template"]
