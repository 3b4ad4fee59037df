/// The texts of one notification, in one piece of memory.
///
/// The memory begins with a table of places, one for each field, and the texts follow. The statement that records a
/// notification and the bodies of its pushes are written from the bytes in it, so that no step needs strings.
@usableFromInline
package struct NotificationTexts: Hashable, Sendable {
    @usableFromInline package typealias Text = UnsafeBufferPointer<UInt8>

    /// A field of a notification.
    @usableFromInline
    package enum Field: Int, CaseIterable, Sendable {
        /// The event's id.
        case event
        /// The title; never empty, except in a badge update.
        case title
        case body
        /// The target of a tap in the web app.
        case webLink
        /// The target of a tap in the mobile app.
        case mobileLink
        /// The target of a tap as a URL of the app's own scheme.
        case schemeLink
        /// The values for templates and for the client, as canonical JSON of an object with members.
        case data
        /// The subject of the notification, such as a transaction.
        case targetID
        /// Strings for the client, as canonical JSON of an object with members.
        case metadata
        case venueID
        case imageURL
        /// The key by which notifications replace one another on a device.
        case collapseKey
    }

    /// The table and the texts; a place is the positions of the first byte and of the byte after the last.
    ///
    /// The place of an absent field is empty and at the beginning, where no text can be.
    @usableFromInline let memory: [UInt8]

    /// The number of bytes of all texts.
    package var byteCount: Int { memory.count - Self.tableSize }

    /// Returns a text as a string; `nil` if it is absent.
    package subscript(field: Field) -> String? {
        with(field) { text in text.map { String(decoding: $0, as: UTF8.self) } }
    }

    @inlinable
    package func has(_ field: Field) -> Bool { with(field) { $0 != nil } }

    /// Runs `body` on the bytes of a text, which is `nil` if it is absent; they are valid only during the call.
    @inlinable
    @inline(__always)
    package func with<Result>(_ field: Field, _ body: (Text?) -> Result) -> Result {
        memory.withUnsafeBytes { memory in
            let start = Int(memory.loadUnaligned(fromByteOffset: field.rawValue * 8, as: UInt32.self))
            guard start > 0 else { return body(nil) }
            let end = Int(memory.loadUnaligned(fromByteOffset: field.rawValue * 8 + 4, as: UInt32.self))
            let bytes = UnsafeRawBufferPointer(rebasing: memory[start..<end])
            return bytes.withMemoryRebound(to: UInt8.self, body)
        }
    }

    private static let tableSize = Field.allCases.count * 8

    /// Collects the texts of a notification.
    package struct Builder: ~Copyable {
        private var memory: [UInt8]

        /// Creates a builder for about this number of bytes.
        package init(expecting size: Int = 512) {
            memory = []
            memory.reserveCapacity(NotificationTexts.tableSize + size)
            memory.append(contentsOf: repeatElement(0, count: NotificationTexts.tableSize))
        }

        /// Adds a text; each field may have one.
        package mutating func set(_ field: Field, _ text: Text) {
            set(field) { $0.append(contentsOf: text) }
        }

        /// Adds the text that `append` appends to the memory.
        mutating func set(_ field: Field, _ append: (inout [UInt8]) -> Void) {
            let start = memory.count
            append(&memory)
            place(field, UInt32(start), UInt32(memory.count))
        }

        /// Removes a text; its bytes stay in the memory.
        mutating func remove(_ field: Field) { place(field, 0, 0) }

        private mutating func place(_ field: Field, _ start: UInt32, _ end: UInt32) {
            memory.withUnsafeMutableBytes { memory in
                memory.storeBytes(of: start, toByteOffset: field.rawValue * 8, as: UInt32.self)
                memory.storeBytes(of: end, toByteOffset: field.rawValue * 8 + 4, as: UInt32.self)
            }
        }

        /// Adds a text, unless it is absent.
        mutating func set(_ field: Field, _ text: Text?) {
            if let text { set(field, text) }
        }

        /// Adds a text, unless it is absent.
        package mutating func set(_ field: Field, _ text: String?) {
            guard let text else { return }
            text.withBytes { set(field, $0) }
        }

        /// Returns the number of bytes of a text; 0 if it is absent.
        func byteCount(of field: Field) -> Int {
            memory.withUnsafeBytes { memory in
                let start = memory.loadUnaligned(fromByteOffset: field.rawValue * 8, as: UInt32.self)
                return Int(memory.loadUnaligned(fromByteOffset: field.rawValue * 8 + 4, as: UInt32.self) - start)
            }
        }

        package consuming func finished() -> NotificationTexts { NotificationTexts(memory: memory) }
    }
}
