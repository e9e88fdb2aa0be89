"""Marks that can be trusted: answers as data, checked by processes that trust nobody.

Read the rooms in this order: ``admission`` (which programs may run), ``process`` (sandboxed
children), ``checks`` (what is asked of an answer), ``course`` (a class, from notebooks to marks),
``handed_in`` (a class's folder, from a learning platform), ``reports`` (tables and pages for the
instructor), ``nbgrader`` (exercises made of solutions, and a gradebook).
"""
