"""``featherstone-ros inspect``: is a robot description fit for dynamics?"""
