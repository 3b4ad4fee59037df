package import Testing

/// The times after which a hanging test is ended.
///
/// Both are far above every ``LongestWait``, because a failed wait reports its condition, and a time limit reports
/// nothing.
extension TimeLimitTrait.Duration {
    package static var ofTest: Self { .minutes(30) }
    package static var ofProof: Self { .minutes(150) }
}
