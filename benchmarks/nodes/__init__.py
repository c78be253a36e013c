"""The latency of running nodes, real processes over DDS, against minimal ones of the same run.

``measure`` runs all and shows it: ``reaction`` (from joint state to command), ``loops`` (how
regularly the twin publishes, a closed loop of both nodes) and ``cycle`` (a control cycle without
the middleware). ``meter`` plays the arm; ``processes`` starts the nodes and holds them still.
``echo``, ``floor``, ``busy``, ``requester`` and ``flood`` are programs.
"""
