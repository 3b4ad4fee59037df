/// The limits of an event's fields; `docs/event.schema.json` repeats them for producers.
///
/// Texts are counted in characters (Unicode code points, as in JSON Schema), identifiers in bytes of UTF-8.
public enum FieldLimits {
    /// The maximum number of named users of one event.
    public static let users = 1000
    /// The maximum number of characters of a title.
    public static let title = 512
    /// The maximum number of characters of a body.
    public static let body = 8192
    /// The maximum number of characters of a route.
    public static let route = 2048
    /// The maximum number of characters of an image's URL.
    public static let imageURL = 2048
    /// The maximum number of characters of `targetId`, `venueId` and `collapseKey`.
    public static let reference = 255
    /// The maximum number of entries of `metadata`.
    public static let metadataEntries = 64
    /// The maximum number of characters of a key of `metadata`.
    public static let metadataKey = 128
    /// The maximum number of characters of a value of `metadata`.
    public static let metadataValue = 1024
}
