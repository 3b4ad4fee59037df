/// The identifier of the in-app record of one event for one user: `noti_` and 16 hexadecimal digits.
///
/// It is the first 8 bytes of SHA-256 over `app 0x00 eventId 0x00 userId`, so that every computation gives the same
/// identifier. The hash is computed elsewhere, because this library contains no cryptography.
public struct NotificationID: Hashable, Sendable, CustomStringConvertible {
    /// The eight bytes, the first one most significant.
    public let bits: UInt64

    private static let prefix: StaticString = "noti_"

    /// Creates the identifier from the first eight bytes of the digest, the first one most significant.
    public init(bits: UInt64) { self.bits = bits }

    /// Creates the identifier from a digest; `nil` if it has fewer than eight bytes.
    public init?(digest: some Collection<UInt8>) {
        guard digest.count >= 8 else { return nil }
        bits = digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Creates the identifier from its written form; `nil` if the text is not the prefix and 16 lower-case digits.
    public init?(validating text: String) {
        guard text.utf8.count == 21, text.utf8.starts(with: UnsafeBufferPointer(start: Self.prefix.utf8Start, count: 5))
        else { return nil }
        var bits: UInt64 = 0
        for byte in text.utf8.dropFirst(5) {
            guard let digit = IdentifierRules.hexadecimalDigit(byte) else { return nil }
            bits = bits << 4 | UInt64(digit)
        }
        self.bits = bits
    }

    /// Returns the bytes that are hashed for this identifier: `app 0x00 eventId 0x00 userId`.
    public static func hashInput(app: AppID, event: EventID, user: UserID) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(app.text.utf8.count + event.text.utf8.count + user.text.utf8.count + 2)
        bytes.append(contentsOf: app.text.utf8)
        bytes.append(0)
        bytes.append(contentsOf: event.text.utf8)
        bytes.append(0)
        bytes.append(contentsOf: user.text.utf8)
        return bytes
    }

    /// The written form.
    ///
    /// It is built in place, because each notification needs it several times.
    public var text: String {
        String(unsafeUninitializedCapacity: 21) { buffer in
            for index in 0..<5 { buffer[index] = Self.prefix.utf8Start[index] }
            for index in 0..<16 {
                let digit = UInt8(truncatingIfNeeded: bits >> UInt64(60 - 4 * index)) & 0x0F
                buffer[5 + index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
            }
            return 21
        }
    }

    /// The written form.
    public var description: String { text }
}

/// The FNV-1a hash.
///
/// It is the same for the same bytes on every machine and in every release, and does not resist deliberate collisions.
package struct StableHash {
    package private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    package init() {}

    package init(of bytes: some Sequence<UInt8>) { add(bytes) }

    package mutating func add(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
    }

    /// The hash as 16 hexadecimal digits.
    package var text: String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
