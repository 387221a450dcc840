"""Puts the parts together that `app.container` holds: models, indexes, generations, jobs."""
