"""Checks of what AWS does differently from emulators, linters and a quick look at its pages: one
check per file, with its source and with deployments that it must refuse.

`python -m proof.aws` runs all of them on this repository's template and definition.
"""
