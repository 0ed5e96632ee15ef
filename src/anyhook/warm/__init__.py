"""How a worker is reached: clients, command lines, frames. What runs in a worker is elsewhere."""
