"""What drives are to be told for a torque, in NumPy: the inverse of ``DriveUnits.torques``."""

import numpy as np

from featherstone_ros.model.drives import smooth_sign


def commands(units, torque, q, qd):
    """Return commands (n,), each in its unit; servos hold ``q``."""
    even, odd = units.losses
    motor = even * torque + odd * np.abs(torque) * smooth_sign(qd)
    known = units.torque_per_current != 0.0
    current = np.where(known, motor / np.where(known, units.torque_per_current, 1.0), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        voltage = units.resistance * current + units.voltage_per_speed * qd
        told = {
            "current": current,
            "duty": voltage / units.supply_voltage,
            "position": q + (torque + units.damping * qd) / units.stiffness,
        }
    return np.select([units.commanded_by(law) for law in told], list(told.values()), torque)


def limited(units, told, lower, upper):
    """Return commands within the drives' own limits, and servos' within the joints'."""
    places, most = units.commanded_by("position"), units.max_command
    return np.clip(told, np.where(places, lower, -most), np.where(places, upper, most))
