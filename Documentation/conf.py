# SPDX-License-Identifier: GPL-2.0-only
# Settings of Sphinx for build.sh, which gives it a copy of this folder and the generated pages.

project = "kpmu"
copyright = "the kpmu developers, GPL-2.0-only"
extensions = ["myst_parser", "sphinx.ext.graphviz"]
exclude_patterns = ["build"]
primary_domain = "c"
highlight_language = "none"
html_theme = "alabaster"
html_theme_options = {
    "page_width": "1320px",
    "body_max_width": "none",
    "sidebar_width": "260px",
    "description": "a performance-monitoring core as a module",
    "fixed_sidebar": True,
}
html_sidebars = {"**": ["about.html", "searchbox.html", "globaltoc.html"]}
html_show_sphinx = False
graphviz_output_format = "svg"
# Words of kernel code that the parser of C declarations does not know
c_id_attributes = [
    "__init", "__exit", "__user", "__rcu", "__iomem", "__percpu", "__always_inline", "noinline",
    "__must_check", "__printf", "asmlinkage",
]
suppress_warnings = ["myst.header"]
