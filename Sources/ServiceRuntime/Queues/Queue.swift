/// Elements in the order of their coming, taken from the front at a constant cost.
///
/// What has been taken stays in memory until it is half of all.
///
/// Messages go through it one by one, so it has to be inlined into other rooms, and the compiler inlines nothing there
/// that is not public.
public struct Queue<Element> {
    @usableFromInline var elements: [Element]

    /// Elements in front of it have been taken.
    @usableFromInline var start = 0

    /// A queue of these, the first one in front.
    @inlinable
    public init(_ elements: [Element] = []) {
        self.elements = elements
    }

    /// Puts one at the end.
    @inlinable
    public mutating func append(_ element: Element) {
        elements.append(element)
    }

    /// Into an empty queue this copies nothing.
    @inlinable
    public mutating func append(contentsOf others: [Element]) {
        if isEmpty {
            elements = others
            start = 0
        } else {
            elements += others
        }
    }

    /// The first one, taken out.
    @inlinable
    public mutating func popFirst() -> Element? {
        guard start < elements.count else { return nil }
        defer { removeFirst(1) }
        return elements[start]
    }

    /// Takes away so many from the front; more than there are is all.
    @inlinable
    public mutating func removeFirst(_ number: Int) {
        start = Swift.min(start + number, elements.count)
        guard start * 2 >= elements.count else { return }
        elements.removeFirst(start)
        start = 0
    }

    /// The first ones, taken out; all of them at once copies nothing.
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
    /// The place of the first one.
    @inlinable public var startIndex: Int { 0 }

    /// As many as there are.
    @inlinable public var endIndex: Int { elements.count - start }

    /// Counted from the front.
    @inlinable
    public subscript(position: Int) -> Element {
        get { elements[start + position] }
        _modify { yield &elements[start + position] }
    }
}

extension Queue: Sendable where Element: Sendable {}
