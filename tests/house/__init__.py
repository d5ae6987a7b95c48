"""Tests of the house itself: its sizes, its drawings, its documents."""
