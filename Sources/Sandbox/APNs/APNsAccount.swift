/// A team's APNs key in the form that Apple issues.
///
/// It exists only in this process.
struct APNsAccount: Sendable {
    /// Ten characters, like Apple's team ids.
    let teamID = "BELLHOPDEV"
    let keyID = "SANDBOXKEY"
    let key: GeneratedKey
    /// The bundle ids that the team may push to.
    let topics: Set<String>

    init(topics: Set<String>) throws(SandboxError) {
        key = try GeneratedKey.generateP256()
        self.topics = topics
    }

    /// Returns the `.p8` file for a sender.
    ///
    /// Its key signs provider tokens.
    func p8() throws(SandboxError) -> [UInt8] {
        Array(try key.pkcs8().utf8)
    }
}

/// One of APNs' two services.
///
/// A device token is valid at only one of them.
enum APNsEnvironment: Sendable {
    case production
    case development
}
