// Carries the precompiled header std.h.
