"""Configuration of the documentation site, which `make docs` builds with Sphinx."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

import logiclens

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "logiclens"
author = "the authors of logiclens"
copyright = "the authors of logiclens, Apache-2.0"
release = version = logiclens.__version__
REPOSITORY = "https://github.com/logiclens/logiclens"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
exclude_patterns = ["_build"]

# Markdown: an anchor for each heading, since pages link to sections; definition lists for the glossary.
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
suppress_warnings = [
    "myst.header",  # generated pages may skip a level
]

# Notebooks run in every build, so that what they show is what the program says today.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 180
nb_merge_streams = True
# Warnings name paths of the machine that builds; explanations repeat what matters as notes.
nb_output_stderr = "remove"
# No page loads anything from the network.
nb_ipywidgets_js: dict[str, dict[str, str]] = {}

# Docstrings are plain text with `code` in single backticks.
default_role = "code"
autosummary_generate = True
autosummary_ignore_module_all = True
autodoc_member_order = "bysource"
# Types stand beside the parameters, so that a signature of 24 parameters stays readable.
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
maximum_signature_line_length = 90
toc_object_entries_show_parents = "hide"
autodoc_default_options = {"members": True, "exclude-members": "set_fit_request, set_score_request"}
napoleon_numpy_docstring = False
# Types in signatures come from many packages and have no page here. Links between pages are checked.
nitpick_ignore_regex = [(r"py:.*", r".*")]
python_use_unqualified_type_names = True

templates_path = ["_templates"]
html_theme = "pydata_sphinx_theme"
html_title = "logiclens"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "logiclens"},
    "icon_links": [{"name": "Source", "url": REPOSITORY, "icon": "fa-brands fa-github"}],
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher", "navbar-icon-links"],
    "show_nav_level": 1,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "use_edit_page_button": False,
}
# Pages without pages below them have no second list of pages.
html_sidebars = {name: [] for name in ("index", "getting_started", "why", "method", "glossary", "contributing")}


def link_to_repository(app: Sphinx, docname: str, source: list[str]) -> None:
    """Turn links to files outside `docs/` into links to the repository, where readers of the site find them."""
    folder = posixpath.dirname(f"docs/{docname}")

    def linked(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, found[1]))
        if path.startswith("docs/"):
            return found[0]
        return "](contributing.md" if path == "CONTRIBUTING.md" else f"]({REPOSITORY}/blob/main/{path}"

    source[0] = re.sub(r"\]\((\.\./[^)#]+)", linked, source[0])


def setup(app: Sphinx) -> None:
    """Register the changes that pages need before they are read."""
    app.connect("source-read", link_to_repository)
