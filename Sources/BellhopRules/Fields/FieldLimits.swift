/// What the fields of an event may measure; `docs/event.schema.json` repeats these for producers.
///
/// Texts count in characters (Unicode code points, as JSON Schema does), identifiers in bytes of UTF-8.
public enum FieldLimits {
    /// Named users of one event.
    public static let users = 1000
    /// Characters of a title.
    public static let title = 512
    /// Characters of a body.
    public static let body = 8192
    /// Characters of a route.
    public static let route = 2048
    /// Characters of an image's URL.
    public static let imageURL = 2048
    /// Characters of `targetId`, `venueId` and `collapseKey`.
    public static let reference = 255
    /// Entries of `metadata`.
    public static let metadataEntries = 64
    /// Characters of a key of `metadata`.
    public static let metadataKey = 128
    /// Characters of a value of `metadata`.
    public static let metadataValue = 1024
}
