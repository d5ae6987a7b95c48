"""Coverage-guided fuzzing of what reads bytes from outside: `make fuzz minutes=30`.

targets.py says what must hold for any bytes, oracles.py reads the same bytes slowly and another
way, seeds.py is where mutation starts, __main__.py runs it under Atheris. The ordinary tests
replay the seeds and every input that was ever found to break something (test_targets.py), without
Atheris.
"""
