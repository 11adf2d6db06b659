"""What AWS does otherwise than an emulator, a linter or a reader of its documentation would think:
one check a file, each with where it is said and with samples that it refuses.

`python -m proof.aws` runs all of them on this repository's template and definition.
"""
