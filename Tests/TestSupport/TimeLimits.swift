package import Testing

/// After how long a test that hangs is ended. Both are far above every ``LongestWait``: a wait that fails reports its
/// condition, and a time limit reports nothing.
extension TimeLimitTrait.Duration {
    package static var ofTest: Self { .minutes(30) }
    package static var ofProof: Self { .minutes(150) }
}
