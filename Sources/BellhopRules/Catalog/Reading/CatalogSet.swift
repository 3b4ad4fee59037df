/// The catalogues of all apps that one installation serves.
public struct CatalogSet: Sendable {
    /// The catalogues in the order of their files.
    public let catalogs: [Catalog]
    private let positions: [AppID: Int]
    /// Tells one set of files from another: the same files have the same, in whatever order they were read.
    public let fingerprint: String

    /// A set of catalogues; of two for one app, the first stays.
    init(_ catalogs: [Catalog], fingerprint: String = "") {
        self.catalogs = catalogs
        self.fingerprint = fingerprint
        positions = Dictionary(catalogs.enumerated().map { ($1.app, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The catalogue of an app, nil when nobody described it.
    public subscript(app: AppID) -> Catalog? {
        positions[app].map { catalogs[$0] }
    }

    /// Reads catalogue files (JSON5); answers with all faults of all files when there is any.
    ///
    /// `hasZone` says whether a name is one of the tz database: an app whose own zone is none would have neither quiet
    /// hours nor digests for users without a zone, and nobody would hear of it. Without it every name will do.
    public static func load(
        files: [(name: String, bytes: [UInt8])],
        hasZone: (TimeZoneName) -> Bool = { _ in true }
    ) -> Result<CatalogSet, CatalogFaults> {
        var faults: [CatalogFault] = []
        var catalogs: [Catalog] = []
        var owners: [AppID: String] = [:]
        for file in files {
            let reading = DocumentReading(file.bytes, file: file.name, limits: .catalog)
            if let catalog = CatalogReader.read(reading) {
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

    /// 12 hex digits: whoever wants to deceive themselves may.
    private static func fingerprint(of files: [(name: String, bytes: [UInt8])]) -> String {
        var hash = StableHash()
        for file in files.sorted(by: { $0.name < $1.name }) { hash.add(Array(file.name.utf8) + [0] + file.bytes + [0]) }
        return String(hash.text.prefix(12))
    }
}

/// One thing wrong in a catalogue file, so that a person can go there and mend it.
public typealias CatalogFault = DocumentFault

/// Everything that is wrong in a set of catalogue files, at once.
public typealias CatalogFaults = DocumentFaults
