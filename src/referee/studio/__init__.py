"""The Studio: pages that show what a store holds. Each is made on the server from its address alone, and needs no script.

A page is a function from a `Query` to a `Page`, a template, and a line in `referee.studio.app.PAGES`.
"""
