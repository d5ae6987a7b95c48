"""The check digits of numbers. Each takes a number without spaces and signs, in capitals."""

from __future__ import annotations

import re
from collections.abc import Sequence


def luhn(digits: str) -> bool:
    """ISO/IEC 7812-1, annex B: the check digit of payment cards."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def mod_97(number: str) -> bool:
    """ISO 7064 mod 97-10, as ISO 13616 has it for IBANs: the first four characters go last."""
    turned = number[4:] + number[:4]
    return int("".join(str(int(character, 36)) for character in turned)) % 97 == 1


def _weighted(digits: str, weights: Sequence[int]) -> int:
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=False))


def _has_one_digit(digits: str) -> bool:
    return len(set(digits)) == 1


def nl_bsn(digits: str) -> bool:
    """The eleven test of the Dutch burgerservicenummer."""
    if _has_one_digit(digits):
        return False
    return _weighted(digits, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def us_ssn(digits: str) -> bool:
    """The numbers that the Social Security Administration gives out; there is no check digit."""
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def us_itin(digits: str) -> bool:
    """The groups of the Internal Revenue Service's numbers for those without an SSN."""
    group = int(digits[3:5])
    in_use = 50 <= group <= 65 or 70 <= group <= 88 or 90 <= group <= 92 or 94 <= group <= 99
    return digits[0] == "9" and in_use


def uk_nhs(digits: str) -> bool:
    """Modulus 11 of the NHS number."""
    if _has_one_digit(digits):
        return False
    check = 11 - _weighted(digits, (10, 9, 8, 7, 6, 5, 4, 3, 2)) % 11
    return (0 if check == 11 else check) == int(digits[9])


def de_tax_id(digits: str) -> bool:
    """The Steuer-ID: ISO 7064 mod 11,10, and among ten digits one stands two or three times."""
    counts = sorted(digits[:10].count(digit) for digit in set(digits[:10]))
    if digits[0] == "0" or counts[-1] not in (2, 3) or counts[-2:].count(counts[-1]) > 1:
        return False
    product = 10
    for digit in digits[:10]:
        total = (int(digit) + product) % 10 or 10
        product = total * 2 % 11
    return (11 - product) % 10 == int(digits[10])


def de_pension(number: str) -> bool:
    """The Rentenversicherungsnummer (VKVV, section 4)."""
    digits = number[:8] + f"{ord(number[8]) - 64:02d}" + number[9:11]
    total = 0
    for digit, weight in zip(digits, (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1), strict=False):
        total += sum(divmod(int(digit) * weight, 10))
    day, month = int(number[2:4]), int(number[4:6])
    return total % 10 == int(number[11]) and 1 <= day % 50 <= 31 and 1 <= month <= 12


def icao(number: str) -> bool:
    """The check digit of travel documents (ICAO 9303, part 3), which is the last character."""
    total = sum(
        int(character, 36) * (7, 3, 1)[place % 3] for place, character in enumerate(number[:-1])
    )
    return total % 10 == int(number[-1])


def fr_nir(number: str) -> bool:
    """The key of the numéro de sécurité sociale; Corsica has letters in it."""
    body = number[:13].replace("2A", "19", 1).replace("2B", "18", 1)
    month = int(body[3:5])
    if not body.isdigit() or not (1 <= month <= 12 or 20 <= month <= 42 or 50 <= month <= 99):
        return False
    return 97 - int(body) % 97 == int(number[13:])


def fr_tax_number(digits: str) -> bool:
    """The numéro fiscal de référence: modulo 511."""
    return digits[0] in "0123" and int(digits[:10]) % 511 == int(digits[10:])


def es_nif(number: str) -> bool:
    """The letter of the DNI, and of the NIE that begins with X, Y or Z."""
    body = number[:-1]
    if body[0] in "XYZ":
        body = str("XYZ".index(body[0])) + body[1:]
    return "TRWAGMYFPDXBNJZSQVHLCKE"[int(body) % 23] == number[-1]


def es_social_security(digits: str) -> bool:
    """The number of afiliación: modulo 97."""
    province, rest = int(digits[:2]), int(digits[2:10])
    body = province * 10**7 + rest if rest < 10**7 else int(digits[:10])
    return 1 <= province <= 66 and body % 97 == int(digits[10:])


# What a character counts in an odd place: letters as digits, then those after J.
_ODD_DIGITS = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21)
_ODD_LETTERS = (2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
_ODD = dict(
    zip(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        (*_ODD_DIGITS, *_ODD_DIGITS, *_ODD_LETTERS),
        strict=True,
    )
)


def it_fiscal_code(number: str) -> bool:
    """The check letter of the codice fiscale."""
    total = 0
    for place, character in enumerate(number[:15]):
        is_odd = place % 2 == 0
        value = int(character) if character.isdigit() else ord(character) - 65
        total += _ODD[character] if is_odd else value
    return chr(65 + total % 26) == number[15]


def pt_nif(digits: str) -> bool:
    """Modulus 11 of the número de identificação fiscal."""
    if digits[0] not in "1235689" and digits[:2] not in ("45", "70", "71", "72", "77", "79"):
        return False
    rest = _weighted(digits, (9, 8, 7, 6, 5, 4, 3, 2)) % 11
    return (0 if rest < 2 else 11 - rest) == int(digits[8])


def pt_citizen_card(number: str) -> bool:
    """The second check digit of the Cartão de Cidadão, over all twelve characters."""
    total = 0
    for place, character in enumerate(number):
        value = int(character, 36)
        if place % 2 == 0:
            value *= 2
            value -= 9 if value > 9 else 0
        total += value
    return total % 10 == 0


def br_cpf(digits: str) -> bool:
    """The two check digits of the Brazilian cadastro de pessoas físicas."""
    if _has_one_digit(digits):
        return False
    for length in (9, 10):
        total = _weighted(digits[:length], range(length + 1, 1, -1))
        if total * 10 % 11 % 10 != int(digits[length]):
            return False
    return True


_NINO = re.compile(r"(?!BG|GB|NK|KN|TN|NT|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]\d{6}[A-D]")


def uk_nino(number: str) -> bool:
    """The prefixes that HM Revenue & Customs gives out; there is no check digit."""
    return _NINO.fullmatch(number) is not None
