"""The experiments of the server-client spider, repeatable: rate, balance over clients, sketch and Bloom error; and the
simulation behind the plan for many machines."""
