/// A team's key for APNs as Apple hands it out, known to nobody but this process.
struct APNsAccount: Sendable {
    /// Ten characters, as Apple's are.
    let teamID = "BELLHOPDEV"
    let keyID = "SANDBOXKEY"
    let key: GeneratedKey
    /// Bundle ids that the team may push to.
    let topics: Set<String>

    init(topics: Set<String>) throws(SandboxError) {
        key = try GeneratedKey.generateP256()
        self.topics = topics
    }

    /// The `.p8` file that a sender is given; its key signs provider tokens.
    func p8() throws(SandboxError) -> [UInt8] {
        Array(try key.pkcs8().utf8)
    }
}

/// Which of APNs' two services answers; a device token is good at one of them.
enum APNsEnvironment: Sendable {
    case production
    case development
}
