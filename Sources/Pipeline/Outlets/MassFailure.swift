import Store

/// Distinguishes a configuration error from errors of a few users' devices, if a provider reports both in the same way.
///
/// Users are counted, not devices, because each user can register any number. A user who registers many unreachable
/// devices loses them, and blocks no other user.
enum MassFailure {
    /// The minimum number of users; fewer are not evidence about the others, whatever their share.
    static let minimumUsers = 5

    /// Whether more than half of the answers are errors, and they affect at least five users.
    ///
    /// `blamed` contains one user per such answer.
    static func isLikely(_ blamed: [UserKey], of answers: Int) -> Bool {
        blamed.count * 2 > answers && Set(blamed).count >= minimumUsers
    }
}
