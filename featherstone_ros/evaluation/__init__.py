"""How well a model explains what an arm measured: recorded joint states against RNEA.

``session.evaluate`` joins the steps, one file each: ``recording`` (which joint states),
``cleaning`` (even samples), ``filtering`` (smooth, with acceleration), ``friction`` (the fit),
``suspicions`` (is effort torque?), ``explanation`` (what came out); ``report``, ``picture``,
``samples_file`` and ``parameter_file`` show and keep it.
"""
