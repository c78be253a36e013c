#!/bin/sh
# A simulated Panda and its controller in SROS 2 enclaves: docs/security.md.
#
#   examples/secure_arm.sh [KEYSTORE]      Ctrl-C ends it
#
# Needs ROS 2 with this package and sros2, and a middleware with DDS security. The keys are made if
# there are none. Watch it, from a second terminal with the variables that it prints:
#
#   ROS_SECURITY_ENCLAVE_OVERRIDE=/operator featherstone-ros monitor
set -eu

share=$(cd "$(dirname "$0")/.." && pwd)
keystore=${1:-$HOME/featherstone_keystore}
: "${ROS_DOMAIN_ID:=7}"
export ROS_DOMAIN_ID ROS_SECURITY_KEYSTORE="$keystore"

# Permissions are signed for one domain: made anew, they are for this one.
ros2 security generate_artifacts -k "$keystore" -p "$share/config/sros2_policy.xml"

export ROS_SECURITY_ENABLE=true ROS_SECURITY_STRATEGY=Enforce
export -p | grep ROS_

description=$(mktemp)
trap 'kill $twin $controller 2>/dev/null || true; rm -f "$description"' EXIT
trap 'exit 0' INT TERM
{
    echo '/**:'
    echo '  ros__parameters:'
    echo '    robot_description: |'
    sed 's/^/      /' "$share/config/panda.urdf"
} > "$description"

start() { # NODE [ARGUMENT...]
    node=$1
    shift
    ros2 run featherstone_ros "$node" --ros-args --enclave "/$node" \
        --params-file "$share/config/panda.yaml" --params-file "$description" "$@" &
}
start digital_twin -r '~/commands:=/feedforward_controller/commands'
twin=$!
start feedforward_controller
controller=$!
wait
