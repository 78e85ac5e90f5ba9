"""Diagnoses that simulated models choose from, in English and Chinese, with what speaks for each.

Common and some rarer diseases of each part of the body. Which one is right of a case is not known here: what
speaks for a disease is what a textbook would name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A disease by its short and its full name; `{side}` in a full name stands for left, right or nothing.

    `cues` are words, in both languages, that speak for it where its part of the body is concerned.
    """

    english: tuple[str, str]
    chinese: tuple[str, str]
    cues: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Region:
    """A part of the body: words that point to it (beginnings of English ones), and its diseases."""

    words: tuple[str, ...]
    diagnoses: tuple[Diagnosis, ...]


def _of(english: str, chinese: str, cues: str = "") -> Diagnosis:
    """Read "short, rest | short", the rest being what the full name has behind the short one."""
    short, _, rest = english.partition(", ")
    chinese_short, _, chinese_full = chinese.partition(", ")
    return Diagnosis(
        (short, f"{short} {rest}" if rest else short),
        (chinese_short, chinese_full or chinese_short),
        tuple(cues.split()),
    )


REGIONS: Final = (
    Region(("liver", "hepat", "upper abdom", "肝", "上腹"), (
        _of("Hepatocellular carcinoma, of the {side}hepatic lobe", "肝细胞癌, 肝{side}叶肝细胞癌",
            "hepatitis cirrho fetoprotein 乙型肝炎 肝硬化 甲胎蛋白"),
        _of("Cavernous haemangioma, of the {side}hepatic lobe", "肝血管瘤, 肝{side}叶海绵状血管瘤",
            "incidental 体检"),
        _of("Liver metastases, from a colorectal carcinoma", "肝转移瘤, 结直肠癌肝转移",
            "weight colorectal 体重下降"),
        _of("Intrahepatic cholangiocarcinoma, of the {side}hepatic lobe",
            "肝内胆管细胞癌, 肝{side}叶胆管细胞癌", "jaundice itch 黄疸"),
        _of("Focal nodular hyperplasia, of the liver", "肝局灶性结节增生", "young contracepti"),
        _of("Hepatocellular adenoma", "肝腺瘤", "contracepti"),
        _of("Pyogenic liver abscess", "肝脓肿, 细菌性肝脓肿", "fever chill 发热 寒战"),
    )),
    Region(("abdom", "bowel", "pancrea", "stomach", "腹", "胰", "肠", "胃"), (
        _of("Pancreatic ductal adenocarcinoma, of the pancreatic head", "胰腺癌, 胰头导管腺癌",
            "jaundice weight 黄疸 体重下降"),
        _of("Acute pancreatitis, due to gallstones", "急性胰腺炎, 胆源性急性胰腺炎",
            "epigastr lipase amylase 淀粉酶"),
        _of("Acute appendicitis", "急性阑尾炎", "right lower 右下腹"),
        _of("Crohn's disease, of the terminal ileum", "克罗恩病, 回肠末段克罗恩病", "diarrh 腹泻"),
        _of("Gastrointestinal stromal tumour, of the stomach", "胃肠道间质瘤, 胃间质瘤",
            "anaemia melaena 黑便"),
        _of("Cholecystolithiasis", "胆囊结石", "colic 绞痛"),
    )),
    Region(("breast", "乳"), (
        _of("Fibroadenoma, of the {side}breast", "纤维腺瘤, {side}乳腺纤维腺瘤", "mobile painless 活动"),
        _of("Invasive ductal carcinoma, of the {side}breast", "浸润性导管癌, {side}侧乳腺浸润性导管癌",
            "hard poorly 质硬 边界不清"),
        _of("Phyllodes tumour, of the {side}breast", "叶状肿瘤, {side}乳腺叶状肿瘤", "rapid 迅速"),
        _of("Simple breast cyst", "乳腺囊肿", "cyclic tender 压痛"),
        _of("Ductal carcinoma in situ", "导管原位癌, {side}乳腺导管原位癌", "calcif discharge 钙化 溢液"),
        _of("Invasive lobular carcinoma", "浸润性小叶癌, {side}乳腺浸润性小叶癌", "thicken"),
        _of("Mastitis, with abscess", "乳腺炎, 乳腺炎伴脓肿", "fever red 红肿 发热"),
    )),
    Region(("aort", "pulse", "pulsatile", "claudica", "heart", "搏动", "主动脉", "心脏"), (
        _of("Abdominal aortic aneurysm, with mural thrombus", "腹主动脉瘤, 腹主动脉瘤伴附壁血栓",
            "pulsatile hypertens 搏动性 高血压"),
        _of("Takayasu arteritis, of the thoracic aorta", "大动脉炎, 多发性大动脉炎",
            "young claudica fatigue 无脉"),
        _of("Aortic dissection, of Stanford type B", "主动脉夹层, Stanford B型主动脉夹层",
            "tearing sudden 突发 撕裂"),
        _of("Giant cell arteritis", "巨细胞动脉炎", "headache fever inflammatory"),
        _of("Atherosclerosis, with stenosis of the subclavian artery",
            "动脉粥样硬化, 锁骨下动脉粥样硬化性狭窄", "smok 吸烟"),
        _of("Retroperitoneal fibrosis", "腹膜后纤维化", "flank"),
        _of("Pulmonary embolism", "肺栓塞", "dyspn 呼吸困难"),
    )),
    Region(("lung", "chest", "cough", "pneumothora", "dyspn", "肺", "胸", "咳", "气短"), (
        _of("Lung adenocarcinoma, of the {side}upper lobe", "肺腺癌, {side}肺上叶周围型肺腺癌",
            "nodule smok 结节"),
        _of("Lymphangioleiomyomatosis, of both lungs", "淋巴管肌瘤病, 双肺淋巴管肌瘤病",
            "woman pneumothora 女 气胸"),
        _of("Community-acquired pneumonia, of the {side}lower lobe", "肺炎, {side}肺下叶肺炎",
            "fever cough 发热 咳嗽"),
        _of("Round pneumonia", "球形肺炎", "year-old girl boy fever 患儿"),
        _of("Pulmonary Langerhans cell histiocytosis", "肺朗格汉斯细胞组织细胞增生症",
            "smok pneumothora 气胸"),
        _of("Pulmonary tuberculosis, of the {side}upper lobe", "肺结核, {side}肺上叶肺结核",
            "night sweat 盗汗 咯血"),
        _of("Pulmonary hamartoma", "肺错构瘤", "incidental 体检"),
        _of("Emphysema, with bullae", "肺气肿, 肺气肿伴肺大疱", "smok 吸烟"),
    )),
    Region(("neck", "thyroid", "ear", "throat", "swallow", "颈", "耳", "腮腺", "甲状腺"), (
        _of("Thyroglossal duct cyst, at the level of the hyoid bone", "甲状舌管囊肿, 舌骨水平甲状舌管囊肿",
            "midline swallow 中线"),
        _of("Pleomorphic adenoma, of the {side}parotid gland", "多形性腺瘤, {side}侧腮腺多形性腺瘤",
            "painless slow 无痛性 缓慢"),
        _of("Warthin tumour, of the {side}parotid gland", "腺淋巴瘤, {side}腮腺腺淋巴瘤", "smok 吸烟"),
        _of("Branchial cleft cyst", "鳃裂囊肿", "lateral"),
        _of("Dermoid cyst, of the floor of the mouth", "皮样囊肿, 口底皮样囊肿", "midline soft"),
        _of("Mucoepidermoid carcinoma, of the {side}parotid gland", "黏液表皮样癌, {side}腮腺黏液表皮样癌",
            "palsy 面瘫"),
        _of("Papillary thyroid carcinoma", "甲状腺乳头状癌", "nodule 结节"),
        _of("Reactive lymphadenopathy", "反应性淋巴结肿大", "fever 发热"),
    )),
    Region(("bone", "joint", "fracture", "arm", "knee", "leg", "骨", "膝", "关节", "肢体"), (
        _of("Simple bone cyst, of the proximal humerus", "单纯性骨囊肿, 肱骨近端骨囊肿",
            "boy fracture"),
        _of("Giant cell tumour of bone, of the {side}distal femur", "骨巨细胞瘤, {side}股骨远端骨巨细胞瘤",
            "knee 膝"),
        _of("Aneurysmal bone cyst", "动脉瘤样骨囊肿", "boy girl swell"),
        _of("Osteosarcoma, of the {side}distal femur", "骨肉瘤, {side}股骨远端骨肉瘤", "night pain 疼痛"),
        _of("Non-ossifying fibroma", "非骨化性纤维瘤", "boy girl incidental"),
        _of("Osteoarthritis, of the {side}knee", "骨性关节炎, {side}膝骨性关节炎", "knee 膝"),
        _of("Fibrous dysplasia", "骨纤维异常增殖症", "fracture"),
        _of("Chondroblastoma", "软骨母细胞瘤", "joint 关节"),
    )),
    Region(("brain", "head", "seizure", "speech", "头", "颅", "言语", "脑"), (
        _of("Acute cerebral infarction, in the territory of the {side}middle cerebral artery",
            "急性脑梗死, {side}侧大脑中动脉供血区急性脑梗死", "weakness atrial 无力 房颤"),
        _of("Tuberous sclerosis complex", "结节性硬化症", "seizure angiofibroma 癫痫"),
        _of("Intracerebral haemorrhage, due to hypertension", "脑出血, 高血压性脑出血",
            "sudden hypertens 突发 高血压"),
        _of("Langerhans cell histiocytosis, of the skull",
            "朗格汉斯细胞组织细胞增生症, 颅骨朗格汉斯细胞组织细胞增生症", "boy girl 患儿 包块"),
        _of("Focal cortical dysplasia", "局灶性皮质发育不良", "seizure 癫痫"),
        _of("Subependymal giant cell astrocytoma", "室管膜下巨细胞星形细胞瘤", "seizure headache"),
        _of("Glioblastoma", "胶质母细胞瘤", "headache 头痛"),
        _of("Dermoid cyst, of the skull", "表皮样囊肿, 颅骨表皮样囊肿", "包块 lump"),
        _of("Multiple sclerosis", "多发性硬化", "vision young"),
    )),
    Region(("child", "infant", "year-old boy", "year-old girl", "urinary catechol", "患儿"), (
        _of("Neuroblastoma, of the {side}adrenal gland", "神经母细胞瘤, {side}肾上腺神经母细胞瘤",
            "abdominal midline catechol mass 儿茶酚胺"),
        _of("Wilms tumour, of the {side}kidney", "肾母细胞瘤, {side}肾母细胞瘤",
            "abdominal mass haematuria 腹部"),
        _of("Hepatoblastoma", "肝母细胞瘤", "abdominal fetoprotein 甲胎蛋白"),
        _of("Burkitt lymphoma", "伯基特淋巴瘤", "weight mass"),
        _of("Ewing sarcoma", "尤文肉瘤", "fever pain 包块"),
        _of("Eosinophilic granuloma", "嗜酸性肉芽肿", "包块 压痛"),
        _of("Rhabdomyosarcoma", "横纹肌肉瘤", "mass 包块"),
    )),
    Region(("kidney", "renal", "flank", "haematuria", "hematuria", "urin", "prostat", "肾", "尿", "腰"), (
        _of("Clear cell renal cell carcinoma, of the {side}kidney", "肾透明细胞癌, {side}肾透明细胞癌",
            "mass 占位 体检"),
        _of("Hydronephrosis, due to a ureteral calculus on the {side}side",
            "肾积水, {side}输尿管结石伴肾积水", "colic flank 绞痛"),
        _of("Renal calculus, in the renal pelvis", "肾结石, {side}肾盂结石", "colic haematuria 血尿"),
        _of("Angiomyolipoma, of the {side}kidney", "血管平滑肌脂肪瘤, {side}肾血管平滑肌脂肪瘤",
            "占位 incidental"),
        _of("Papillary renal cell carcinoma", "乳头状肾细胞癌", "占位"),
        _of("Renal oncocytoma", "肾嗜酸细胞腺瘤", "占位 体检"),
        _of("Acute pyelonephritis", "急性肾盂肾炎", "fever dysuria 发热"),
        _of("Urothelial carcinoma, of the renal pelvis", "肾盂尿路上皮癌", "haematuria 血尿"),
    )),
)  # fmt: skip
"""Regions and their diagnoses. A disease may stand in several."""
