/**
 * The few DER building blocks that a certificate is made of, over node-forge's `asn1`. It encodes and decodes
 * structure only: no meaning, no keys, and nothing that a pod or an origin sent is read here.
 */
import forge from 'node-forge';

export type Der = forge.asn1.Asn1;

export function sequence(...parts: Der[]): Der {
  return constructed(Type.SEQUENCE, parts);
}

/** DER has the parts of a set in the order of their bytes, whatever order they are given in. */
export function set(...parts: Der[]): Der {
  const inOrder = parts.toSorted((one, other) => Buffer.compare(encode(one), encode(other)));
  return constructed(Type.SET, inOrder);
}

/** A context-specific tag around other values, `[number] EXPLICIT`. */
export function explicit(number: number, ...parts: Der[]): Der {
  return asn1.create(Class.CONTEXT_SPECIFIC, number, true, parts);
}

/** A context-specific tag in place of a primitive value's own, `[number] IMPLICIT`. */
export function implicit(number: number, content: Buffer): Der {
  return asn1.create(Class.CONTEXT_SPECIFIC, number, false, content.toString('latin1'));
}

/** An object identifier from its dotted form. */
export function objectIdentifier(dotted: string): Der {
  return asn1.create(Class.UNIVERSAL, Type.OID, false, asn1.oidToDer(dotted).getBytes());
}

/** An integer from its big-endian two's complement bytes. */
export function integer(content: Buffer): Der {
  return primitive(Type.INTEGER, content);
}

/** TRUE. DER leaves a FALSE that is the default unwritten, so there is no other. */
export function trueValue(): Der {
  return primitive(Type.BOOLEAN, Buffer.of(0xff));
}

export function octetString(content: Buffer): Der {
  return primitive(Type.OCTETSTRING, content);
}

/** `unusedBits` counts the low bits of the last byte that are not part of the string. */
export function bitString(content: Buffer, unusedBits = 0): Der {
  return primitive(Type.BITSTRING, Buffer.concat([Buffer.of(unusedBits), content]));
}

export function utf8String(text: string): Der {
  return primitive(Type.UTF8, Buffer.from(text, 'utf8'));
}

/** Text of the basic plane, two bytes a character, high byte first: what PKCS#12 writes names in. */
export function bmpString(text: string): Der {
  return primitive(Type.BMPSTRING, Buffer.from(text, 'utf16le').swap16());
}

/** A time in whole seconds. RFC 5280, 4.1.2.5: UTCTime through 2049, GeneralizedTime from 2050. */
export function time(date: Date): Der {
  return date.getUTCFullYear() < 2050
    ? asn1.create(Class.UNIVERSAL, Type.UTCTIME, false, asn1.dateToUtcTime(date))
    : asn1.create(Class.UNIVERSAL, Type.GENERALIZEDTIME, false, asn1.dateToGeneralizedTime(date));
}

export function encode(value: Der): Buffer {
  return Buffer.from(asn1.toDer(value).getBytes(), 'latin1');
}

/** Throws when the bytes are not one whole value, or are not what `encode` would write for it. */
export function decode(bytes: Buffer): Der {
  const value = asn1.fromDer(bytes.toString('latin1'));
  // Equal as a whole means equal in each part, so a part of it can be written again byte for byte.
  if (!encode(value).equals(bytes)) throw new Error('the bytes are not DER');
  return value;
}

/** The values inside a constructed value. Throws when it is a primitive one. */
export function partsOf(value: Der): readonly Der[] {
  if (!Array.isArray(value.value)) throw new Error('the DER value has no parts');
  return value.value;
}

/** The content bytes of a primitive value. Throws when it is a constructed one. */
export function contentOf(value: Der): Buffer {
  if (typeof value.value !== 'string') throw new Error('the DER value is not a primitive one');
  return Buffer.from(value.value, 'latin1');
}

function constructed(type: forge.asn1.Type, parts: Der[]): Der {
  return asn1.create(Class.UNIVERSAL, type, true, parts);
}

function primitive(type: forge.asn1.Type, content: Buffer): Der {
  // node-forge keeps bytes as text of one character a byte.
  return asn1.create(Class.UNIVERSAL, type, false, content.toString('latin1'));
}

const { asn1 } = forge;
const { Class, Type } = asn1;
