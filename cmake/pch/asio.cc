// Carries the precompiled header asio.h.
