"""Generations: what is stored, cut and embedded in one way, and the change to another."""
