/// How much of a message travels, in the order in which it is tried.
enum MessageParts: CaseIterable {
    case everything
    case withoutData
    case withoutDataAndImage
}
