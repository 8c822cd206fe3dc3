"""The privacy loss of measurements under a policy, computed and never asserted."""

from tetraodon.certificate.certificate import Certificate, Sensitivity
from tetraodon.certificate.kernel import certify_measurements, sensitivity_of
from tetraodon.certificate.sensitivity import certify, sensitivity

__all__ = ["Certificate", "Sensitivity", "certify", "certify_measurements", "sensitivity", "sensitivity_of"]
