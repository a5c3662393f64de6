// Carries the precompiled header grpc.h.
