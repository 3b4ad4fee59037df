/// The catalogues of all apps in one installation.
public struct CatalogSet: Sendable {
    /// The catalogues in the order of their files.
    public let catalogs: [Catalog]
    private let positions: [AppID: Int]
    /// The catalogues that convert other applications' messages; usually none.
    private let converting: [Catalog]
    /// Identifies a set of files; the same files have the same fingerprint, in any order.
    public let fingerprint: String

    /// Creates a set of catalogues; of two for one app, the first is used.
    init(_ catalogs: [Catalog], fingerprint: String = "") {
        self.catalogs = catalogs
        self.fingerprint = fingerprint
        positions = Dictionary(catalogs.enumerated().map { ($1.app, $0) }, uniquingKeysWith: { first, _ in first })
        converting = catalogs.filter { !$0.mappings.isEmpty }
    }

    /// Whether any catalogue converts other applications' messages.
    var hasMappings: Bool { !converting.isEmpty }

    /// Returns the mapping of a name, with the app's catalogue; `nil` if there is none.
    func mapping(_ app: some StringProtocol, _ name: some StringProtocol) -> (Catalog, MessageMapping)? {
        for catalog in converting where catalog.app.text.hasSameBytes(as: app) {
            let mapping = catalog.mappings.first { $0.name.text.hasSameBytes(as: name) }
            return mapping.map { (catalog, $0) }
        }
        return nil
    }

    /// Returns the catalogue of an app; `nil` if there is none.
    public subscript(app: AppID) -> Catalog? {
        // Comparing a few names takes less time than hashing one.
        let place = catalogs.count > Self.few ? positions[app] : catalogs.indices.first { catalogs[$0].app == app }
        return place.map { catalogs[$0] }
    }

    /// The number of catalogues up to which a linear search is faster.
    private static let few = 8

    /// Reads catalogue files (JSON5); returns all faults of all files if there are any.
    ///
    /// `hasZone` returns whether the tz database has a name. An app with an unknown zone would silently have neither
    /// quiet hours nor digests for users without a zone. By default, every name is accepted.
    public static func load(
        files: [(name: String, bytes: [UInt8])],
        hasZone: (TimeZoneName) -> Bool = { _ in true }
    ) -> Result<CatalogSet, CatalogFaults> {
        var faults: [CatalogFault] = []
        var catalogs: [Catalog] = []
        var owners: [AppID: String] = [:]
        for file in files {
            let reading = DocumentReading(file.bytes, file: file.name, limits: .catalog)
            if let catalog = CatalogParser.read(reading) {
                if let owner = owners[catalog.app] {
                    reading.report(JSONPointer.root.key("app"), "this app is described in \(owner) already")
                }
                if !hasZone(catalog.timezone) {
                    let place = JSONPointer.root.key("timezone")
                    reading.report(place, "the tz database of this machine has no \(catalog.timezone)")
                }
                owners[catalog.app] = owners[catalog.app] ?? file.name
                catalogs.append(catalog)
            }
            faults += reading.inOrder
        }
        return faults.isEmpty
            ? .success(CatalogSet(catalogs, fingerprint: fingerprint(of: files)))
            : .failure(CatalogFaults(faults: faults))
    }

    /// Returns 12 hexadecimal digits.
    ///
    /// The hash detects changes and does not protect against deliberate collisions.
    private static func fingerprint(of files: [(name: String, bytes: [UInt8])]) -> String {
        var hash = StableHash()
        for file in files.sorted(by: { $0.name < $1.name }) { hash.add(Array(file.name.utf8) + [0] + file.bytes + [0]) }
        return String(hash.text.prefix(12))
    }
}

/// One fault in a catalogue file, with the place to correct.
public typealias CatalogFault = DocumentFault

/// All faults of a set of catalogue files.
public typealias CatalogFaults = DocumentFaults
