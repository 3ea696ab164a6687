"""Pages: Jinja templates, styles and small ES modules of our own. No database, no settings, no FastAPI.

How a page of the viewer is added:

1. its view model, frozen dataclasses of plain values, in a module of ``web/viewer`` named after the page, with a
   function ``show(shelf, request) -> Page``. It runs in a thread, may read files, raises ``OddishError``; its
   docstring says in a sentence what is shown;
2. its template in ``templates/viewer/``, which extends ``base.html`` and sees the model as ``model``, its ``links``
   (``web.viewer.links``), the filters of ``web.wording`` and the macros of ``templates/components``. Styles and
   modules of its own go to ``static/`` and into its blocks ``styles`` and ``scripts`` by ``asset("name.css")``;
3. its route: a line in ``web/viewer/routes.py``. That puts it into ``oddish view`` and, below ``/viewer``, the server;
   ``scripts/reference`` puts it into the list of routes, and the tests of all routes call it;
4. its JSON twin is there then: the same address with ``?format=json`` or ``Accept: application/json`` gives the model.

What is no plain value, such as a chart, goes into ``Page.drawn``: the template sees it, the twin does not.
"""
