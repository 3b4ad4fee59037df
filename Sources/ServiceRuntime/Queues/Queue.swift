/// A queue: elements in order of arrival, taken from the front at a constant cost.
///
/// Taken elements stay in memory until they are half of all elements. Messages pass through it individually, so that it
/// must be inlined into other targets, and the compiler inlines only public declarations there.
public struct Queue<Element> {
    @usableFromInline var elements: [Element]

    /// The index of the first element that was not taken.
    @usableFromInline var start = 0

    /// Creates a queue with the first element in front.
    @inlinable
    public init(_ elements: [Element] = []) { self.elements = elements }

    /// Appends one element.
    @inlinable
    public mutating func append(_ element: Element) { elements.append(element) }

    /// Appends elements; an append to an empty queue copies nothing.
    @inlinable
    public mutating func append(contentsOf others: [Element]) {
        if isEmpty {
            elements = others
            start = 0
        } else {
            elements += others
        }
    }

    /// Removes and returns the first element.
    @inlinable
    public mutating func popFirst() -> Element? {
        guard start < elements.count else { return nil }
        defer { removeFirst(1) }
        return elements[start]
    }

    /// Removes `number` elements from the front, or all if there are fewer.
    @inlinable
    public mutating func removeFirst(_ number: Int) {
        start = Swift.min(start + number, elements.count)
        guard start * 2 >= elements.count else { return }
        elements.removeFirst(start)
        start = 0
    }

    /// Removes and returns the first elements; taking all of them together copies nothing.
    @inlinable
    public mutating func take(_ number: Int) -> [Element] {
        guard start > 0 || number < elements.count else {
            defer { elements = [] }
            return elements
        }
        defer { removeFirst(number) }
        return Array(elements[start..<Swift.min(start + number, elements.count)])
    }
}

extension Queue: RandomAccessCollection, MutableCollection {
    /// The index of the first element.
    @inlinable public var startIndex: Int { 0 }

    /// The number of elements.
    @inlinable public var endIndex: Int { elements.count - start }

    /// Accesses an element by its position from the front.
    @inlinable
    public subscript(position: Int) -> Element {
        get { elements[start + position] }
        _modify { yield &elements[start + position] }
    }
}

extension Queue: Sendable where Element: Sendable {}
