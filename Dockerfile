# featherstone_ros in a workspace on ros:jazzy.
# Not built by its authors, who had no container engine: checked by hadolint.
#   docker build -t featherstone_ros .
#   docker run --rm -it featherstone_ros ros2 run featherstone_ros featherstone-ros inspect panda
ARG DISTRO=jazzy
FROM ros:${DISTRO}
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
WORKDIR /workspace
COPY package.xml src/featherstone_ros/
RUN apt-get update && rosdep update --rosdistro "$ROS_DISTRO" \
    && rosdep install --from-paths src --ignore-src -y \
    && rm -rf /var/lib/apt/lists/*
COPY . src/featherstone_ros/
RUN source "/opt/ros/$ROS_DISTRO/setup.bash" && colcon build --packages-select featherstone_ros \
    && sed -i 's|^exec |source /workspace/install/setup.bash\nexec |' /ros_entrypoint.sh
