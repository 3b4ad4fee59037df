package import BellhopJSON
package import Settings

/// The settings of sign-in: a key set for Bellhop's own tokens, a file of issuers, or both.
package struct SignInConfiguration: Sendable {
    /// The key set of `BELLHOP_JWT_KEYS`.
    private let keys: String?
    private let audience: String
    private let issuer: String?
    /// The file of `BELLHOP_SIGN_IN`.
    private let file: String?

    package init(_ configuration: BellhopConfiguration) {
        keys = configuration.jwtKeys
        audience = configuration.jwtAudience
        issuer = configuration.jwtIssuer
        file = configuration.signIn
    }

    init(keys: String?, audience: String = "bellhop", issuer: String? = nil, file: String? = nil) {
        self.keys = keys
        self.audience = audience
        self.issuer = issuer
        self.file = file
    }

    /// Returns the issuers of a file of issuers, or every fault of it.
    package static func issuers(of file: String) -> Result<[ConfiguredIssuer], DocumentFaults> {
        SignInFile.read(file, WatchedFiles())
    }

    /// Returns the issuers of all files, or every fault of them.
    func read(_ files: WatchedFiles) -> Result<[ConfiguredIssuer], DocumentFaults> {
        var issuers: [ConfiguredIssuer] = []
        var faults: [DocumentFault] = []
        for read in [keys.map { keySet($0, files) }, file.map { SignInFile.read($0, files) }] {
            switch read {
            case .success(let found)?: issuers += found
            case .failure(let found)?: faults += found.faults
            case nil: continue
            }
        }
        return faults.isEmpty ? .success(issuers) : .failure(DocumentFaults(faults: faults))
    }

    private func keySet(_ path: String, _ files: WatchedFiles) -> Result<[ConfiguredIssuer], DocumentFaults> {
        switch files.read(path) {
        case .success(let bytes):
            TokenKeySet.read(bytes, file: path).map { keys in
                [ConfiguredIssuer(rules: TokenRules(issuer: issuer, audiences: [audience]), keys: .file(keys))]
            }
        case .failure(let problem): .failure(TokenKeySet.unreadable(path, problem))
        }
    }
}
