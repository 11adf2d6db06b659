"""The simulator: the deployed definition and the deployed functions in a world with faults.

python -m proof.sim --seed 7        one walk, and its story
python -m proof.sim --walks 100     walks from a range of seeds
python -m proof.sim --search        every order of a few messages and faults
python -m proof.sim --mutants       broken definitions that must be noticed
python -m proof.sim --hours         many events, with an outage of an hour
"""
